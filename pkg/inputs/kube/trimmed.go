package kube

import (
	"context"
	"net/http"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// trimmedKey marks the context of a request whose objects are trimmed as soon as they arrive.
type trimmedKey struct{}

// askTrimmed lets a gateway that is able to trim the objects of a request.
func askTrimmed(ctx context.Context) context.Context {
	return context.WithValue(ctx, trimmedKey{}, true)
}

// trimming adds the header that requests trimmed objects to the requests for which they suffice.
type trimming struct{ next http.RoundTripper }

func (t trimming) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(trimmedKey{}) != nil {
		r = r.Clone(r.Context())
		r.Header.Set(source.HeaderObjects, source.Trimmed())
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport below.
func (t trimming) WrappedRoundTripper() http.RoundTripper { return t.next }
