package registry

import "github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"

// Set is what serves clusters.
type Set interface {
	// Put serves a version of a cluster. After an error the version before stays in force.
	Put(object *v1alpha1.UpstreamCluster) error
	// Reject records that the newest version of a cluster has faults.
	Reject(name string, err error)
	// Delete serves a cluster no longer.
	Delete(name string)
	// Conflict returns which host names of a cluster belong to others; "" if none do.
	Conflict(name string) string
}
