package registry

import (
	"errors"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// ErrBeyond is wrapped in the error of a Set for a cluster that is not served because older ones take all places.
var ErrBeyond = errors.New("the cluster is not served")

// Set is what serves clusters.
type Set interface {
	// Put serves a version of a cluster. After an error the version before stays in force, unless it is ErrBeyond.
	Put(object *v1alpha1.UpstreamCluster) error
	// Reject records that the newest version of a cluster has faults.
	Reject(name string, err error)
	// Delete serves a cluster no longer.
	Delete(name string)
	// Conflict returns which host names of a cluster belong to others; "" if none do.
	Conflict(name string) string
	// Beyond reports whether a cluster is not served because older ones take all places.
	Beyond(name string) bool
}
