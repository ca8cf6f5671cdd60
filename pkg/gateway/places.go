package gateway

import (
	"cmp"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/google/btree"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/gateway/registry"
)

// How many clusters are served at once by default, by the memory that Go may use: half of it is for what is kept for each cluster, such as
// cached reviews. Connections and copies have limits of their own.
const (
	clusterBytes  = 2 << 20
	leastClusters = 64
	mostClusters  = 4096
)

// clusterLimit is how many clusters are served at once; 0 asks for the default.
func clusterLimit(setting int) int {
	if setting > 0 {
		return setting
	}
	memory := debug.SetMemoryLimit(-1)
	if memory == math.MaxInt64 {
		return mostClusters
	}
	return int(max(leastClusters, min(mostClusters, memory/2/clusterBytes)))
}

// places decides which clusters are served if there are more than the limit: the oldest, and of those of the same age the first by name. So
// all instances of the gateway decide alike, in whatever order they learn of clusters. The lock of Set guards it.
type places struct {
	limit        int
	created      map[string]metav1.Time // when each cluster without faults was created
	served, rest *btree.BTreeG[place]
}

// place is a cluster by its age.
type place struct {
	created metav1.Time
	name    string
}

func newPlaces(limit int) *places {
	older := func(a, b place) bool {
		return cmp.Or(a.created.Compare(b.created.Time), cmp.Compare(a.name, b.name)) < 0
	}
	const degree = 16
	return &places{
		limit: limit, created: map[string]metav1.Time{}, served: btree.NewG(degree, older), rest: btree.NewG(degree, older),
	}
}

// put enters a cluster. It returns the one that is not served any more because of that, which may be the one that was entered; "" if there
// is none.
func (p *places) put(name string, created metav1.Time) (loser string) {
	if was, known := p.created[name]; known && was.Equal(&created) {
		return ""
	}
	p.remove(name)
	p.created[name] = created
	p.served.ReplaceOrInsert(place{created, name})
	if p.served.Len() <= p.limit {
		return ""
	}
	last, _ := p.served.DeleteMax()
	p.rest.ReplaceOrInsert(last)
	return last.name
}

// remove forgets a cluster. The oldest of the rest gets its place.
func (p *places) remove(name string) {
	created, known := p.created[name]
	if !known {
		return
	}
	delete(p.created, name)
	p.rest.Delete(place{created, name})
	if _, had := p.served.Delete(place{created, name}); !had {
		return
	}
	if next, some := p.rest.DeleteMin(); some {
		p.served.ReplaceOrInsert(next)
	}
}

// beyond reports whether a cluster is known and has no place.
func (p *places) beyond(name string) bool {
	created, known := p.created[name]
	return known && p.rest.Has(place{created, name})
}

// err is the error of a cluster that is not served.
func (p *places) err() error {
	return fmt.Errorf("%w: there are %d clusters, and the gateway serves the %d oldest (gateway-max-clusters)", registry.ErrBeyond, len(p.created), p.limit)
}
