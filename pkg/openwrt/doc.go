// Package openwrt is how netloom talks to one OpenWRT network function: the SD-WAN REST interface of its LuCI, below
// /cgi-bin/luci/sdewan/. It knows no intents.
//
// A Client logs in when it is first asked something, keeps a session and a few connections, and does nothing on its own:
// a device that nobody asks gets no request. An object is an Object, a map of the fields that the device knows; typed
// structs such as Zone spell them. A Client compares canonical objects (see Canonical) and nothing else.
//
// # What the device does wrong, and what is done about it
//
// It takes a body without a length for an empty one: every body has a length. It takes any body of the type of a form for
// a form, which only the login is.
//
// It answers 403 once a session has ended: the client logs in again and repeats the request, once. A second 403 is
// ErrUnauthorized, never an empty answer. The redirect that answers a login is not followed.
//
// It calls errors text/plain, does not escape them, and repeats them in the reason: the client reads the body as text,
// ignores the reason, and passes on a short message from which every secret it knows has been taken.
//
// It says 201 and null, or 200 and null, when it kept nothing, as with names that UCI cannot hold, and leaves out what it
// does not know: what it sends back is compared with what it was sent, and a difference is a LossError. CheckName tells
// beforehand what it would lose.
//
// It turns every value into trimmed text, drops empty ones, refuses empty lists, drops texts where lists belong, and
// moves tunnels before transports: Canonical does the same, on both sides of every comparison.
//
// It requires nothing, and says 428 for some missing dependencies and 400 for others: IsDependencyMissing knows both.
// That an object is in use is a 400 as well: IsInUse. Both are matters of order, not faults.
//
// It puts by deleting and creating, without noticing whether the second half worked, and moves the object to the end:
// after any error of a Put the object may be gone. It piles up anonymous objects of one name when they are created
// twice: Put leaves one. A write whose answer did not come whole is ErrUnknownOutcome; writes are never repeated unless
// nothing of them was sent.
//
// It decodes certificates once too often when it shows them, so that what comes back is rubbish, made of a private key in
// one case: the client keeps a Digest of it. Of a certificate one can tell that it is there, and that what is shown has
// changed since the last look. A certificate that is too short breaks every answer about its remote, and the list of all.
//
// It prints the remotes of ipsec, with their keys in clear, into the header block of status answers. Go's HTTP client
// refuses such an answer and quotes it in its error. So the client reads these answers itself and drops header lines
// unseen, and lets no error of the HTTP library pass that could quote an answer.
//
// It answers without a session as well. Over https the client insists on the CA it was given, so that it tells its
// secrets to nobody else.
//
// # What must not be seen
//
// Passwords, session cookies, keys and certificates appear in no error and no log. A Secret prints as a fixed word.
//
// Package simulator has a device to test against.
package openwrt
