// Package listener makes the HTTP servers of netloom, and bounds what their clients can use: connections in total and from one address, the
// bytes and the time of a header, and the streams of an HTTP/2 connection.
//
// When there are too many, a connection that waits for a request is closed in favor of a new one: one from the same address if that has its
// share, otherwise the one that has waited longest. So clients that open connections and send nothing, or half a header, cannot lock others
// out, and hold little memory.
package listener
