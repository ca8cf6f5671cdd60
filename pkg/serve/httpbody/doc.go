// Package httpbody sends large HTTP responses at a cost that does not grow with the number of clients.
//
// A response is computed once for a key, kept compressed, and shared by all requests for that key, both those that arrive while
// it is computed and later ones. The total size of responses and the number of requests are limited: beyond that, requests fail
// with ErrBusy, which becomes 503 with Retry-After. A slow client has no copy of its own, and is disconnected after SendTime.
package httpbody
