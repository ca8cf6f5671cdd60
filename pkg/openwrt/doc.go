// Package openwrt is the client of one device: the SD-WAN REST API of LuCI, below /cgi-bin/luci/sdewan/. It knows no intents.
//
// A Client logs in at its first request, keeps a session and a few connections, and does nothing in the background. An object is
// an Object, a map of the fields that the device knows; typed structs such as Zone encode them. A Client compares only canonical
// objects (see Canonical).
//
// # Bugs of the device and their workarounds
//
// It treats a body without a length as empty: every body has a length. It treats any body with the content type of a form as a
// form, which only the login is.
//
// It answers 403 once a session has ended: the client logs in again and repeats the request once. A second 403 is
// ErrUnauthorized, never an empty response. The redirect that answers a login is not followed.
//
// It declares errors as text/plain, does not escape them, and repeats them in the reason phrase: the client reads the body as
// text, ignores the reason phrase, and returns a short message from which every secret that it knows is removed.
//
// It answers 201 and null, or 200 and null, when it stored nothing, for example because of a name that UCI does not allow, and
// omits fields that it does not know: the client compares what the device returns with what it was sent, and a difference is a
// LossError. CheckName reports in advance what would be lost.
//
// It turns every value into trimmed text, drops empty values, rejects empty lists, drops strings where lists belong, and moves
// tunnels before transports: Canonical does the same on both sides of every comparison.
//
// It requires no field, and answers 428 for some missing dependencies and 400 for others: IsDependencyMissing recognizes both.
// It also answers 400 if an object is in use: IsInUse. Both are a matter of order, not errors.
//
// It replaces objects by deleting and creating them, without checking that the second step worked, and moves the object to the
// end: after any error of a Put the object may be gone. It accumulates anonymous objects with the same name when they are created
// twice: Put leaves one. A write whose response was incomplete is ErrUnknownOutcome; a write is repeated only if nothing of it was
// sent.
//
// It decodes certificates once too often when it returns them, so the result is garbage, in one case made from a private key: the
// client keeps a Digest of it. This shows whether there is a certificate, how many, and whether the returned value has changed.
// Of a list of certificates it deletes only the first: WithdrawnParts overwrites the others. A certificate that is too short breaks every response about its remote, and the list of all remotes.
//
// It prints the remotes of ipsec, with their keys in cleartext, into the headers of status responses. Go's HTTP client rejects such
// a response and quotes it in its error. So the client reads these responses itself, drops header lines unread, and returns no
// error of the HTTP library that could quote a response.
//
// It also answers without a session. With https the client insists on the configured CA, so that secrets are sent only to the
// right device.
//
// # Secrets
//
// Passwords, session cookies, keys and certificates never appear in errors or the log. A Secret prints as a fixed word.
//
// Package simulator contains a device to test against.
package openwrt
