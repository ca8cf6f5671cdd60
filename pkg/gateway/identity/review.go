package identity

import "github.com/netloom/netloom/pkg/serve/auth/review"

// ErrUnavailable means that the cluster could not be asked, so that nothing is known about a client.
var ErrUnavailable = review.ErrUnavailable

// TTL is how long results of reviews are cached. Zero values are the defaults.
type TTL = review.TTL

const cached = 8192 // positive results of each kind, and as many negative ones
