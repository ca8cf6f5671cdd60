package kube

import (
	"context"
	"net/http"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/inputs/wire"
)

// trimmedKey marks the context of a request whose objects are trimmed as soon as they arrive.
type trimmedKey struct{}

// askTrimmed lets a gateway that is able to trim the objects of a request.
func askTrimmed(ctx context.Context) context.Context {
	return context.WithValue(ctx, trimmedKey{}, true)
}

// trimming adds the header that requests trimmed objects to the requests for which they suffice. An API server ignores it: what it sends is
// trimmed before it is decoded.
type trimming struct{ next http.RoundTripper }

func (t trimming) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(trimmedKey{}) == nil {
		return t.next.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	r.Header.Set(source.HeaderObjects, source.Trimmed())
	response, err := t.next.RoundTrip(r)
	if err == nil {
		wire.Trim(response)
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (t trimming) WrappedRoundTripper() http.RoundTripper { return t.next }
