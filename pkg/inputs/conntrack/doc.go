// Package conntrack reads the connections that the datapath of Open vSwitch tracks, as ovs-appctl dpctl/dump-conntrack prints them
// (ovs-vswitchd(8)).
package conntrack
