package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

// ErrBeyond is wrapped in the error of a Set for a cluster that is not served because older ones take all places.
var ErrBeyond = errors.New("the cluster is not served")

// ErrDuplicate is wrapped in the error of a cluster that a directory defines more than once, and of which the first definition is served.
var ErrDuplicate = errors.New("it is defined more than once")

// mostNamed is how many of the other files an error names.
const mostNamed = 3

// errDuplicate is that error; used is the file whose definition is served, and others are those with another one, at least one.
func errDuplicate(used string, others []string) error {
	again := strings.Join(others[:min(len(others), mostNamed)], ", ")
	if n := len(others) - mostNamed; n > 0 {
		again += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("metadata.name: %w: in %s, which is used, and again in %s", ErrDuplicate, used, again)
}

// Set is what serves clusters.
type Set interface {
	// Put serves a version of a cluster. After an error the version before stays in force, unless it is ErrBeyond.
	Put(object *v1alpha1.UpstreamCluster) error
	// Reject records that the newest version of a cluster has faults, or ErrDuplicate. After the latter, it waits for a place if it has none.
	Reject(name string, err error)
	// Delete serves a cluster no longer.
	Delete(name string)
	// Conflict returns which host names of a cluster belong to others; "" if none do.
	Conflict(name string) string
	// Beyond reports whether a cluster is not served because older ones take all places.
	Beyond(name string) bool
}
