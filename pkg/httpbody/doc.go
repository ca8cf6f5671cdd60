// Package httpbody sends large answers to HTTP requests at a cost that does not grow with the number of those who ask.
//
// An answer is made once for a key, kept compressed, and shared by every request for that key, those that come while it is made
// and those that come later. All answers together have a limit in bytes, and requests have one in number: what does not fit is
// refused with ErrBusy, which becomes 503 with Retry-After. A slow reader holds no copy of its own, and no longer than
// SendTime.
package httpbody
