// Package schema holds the Northbound schemas of some OVN versions, as those versions ship them, so that a server can be
// started where no OVN is installed.
package schema
