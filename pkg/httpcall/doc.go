// Package httpcall is what the clients of REST APIs have in common: what is known about a request that failed, and how to
// report it without quoting what a server sent.
//
// Do sends a request once. A write that may have reached the server, but has no complete answer, is ErrUnknownOutcome; it is
// never repeated here. Errors of net/http quote what they could not read, which may be a key or a token: Do returns only those that
// quote nothing. Login keeps the result of a login, so that callers whose session has ended at the same time log in once.
package httpcall
