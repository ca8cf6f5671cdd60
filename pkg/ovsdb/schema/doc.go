// Package schema contains the Northbound schemas of some OVN versions, as those versions ship them, so that a server can
// be started without an OVN installation.
package schema
