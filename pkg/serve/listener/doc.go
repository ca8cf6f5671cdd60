// Package listener makes the HTTP servers of netloom, and bounds what their clients can use: connections in total and of one address,
// the bytes and the time of a header, and the streams of an HTTP/2 connection.
//
// A connection that waits for a request gives way to a new one when there are too many: first one of the same address, if that has its
// share, otherwise the one that has waited longest. So clients that open connections and send nothing, or half a header, cannot lock
// others out, and hold little memory.
package listener
