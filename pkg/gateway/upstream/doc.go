// Package upstream is one cluster with several API servers as an http.RoundTripper: it selects a ready API server, sends the
// request there, and tries another one if nothing was sent. It probes the API servers, and changes in place.
package upstream
