package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// Set is the set of clusters that are served. Sources change it while requests are served. Make it with NewSet.
type Set struct {
	make func(name string) (*tenant, error)
	// credentials completes objects that refer to credentials.
	credentials *credential.Keeper

	mu      sync.Mutex // held by changes
	tenants map[string]*tenant
	faults  map[string]error // by cluster: why its last version is not served, or registry.ErrDuplicate
	places  *places
	hosts   atomic.Pointer[map[string]*tenant]
}

func newSet(newTenant func(name string) (*tenant, error), credentials *credential.Keeper, limit int) *Set {
	s := &Set{make: newTenant, credentials: credentials, tenants: map[string]*tenant{}, faults: map[string]error{}, places: newPlaces(limit)}
	s.hosts.Store(&map[string]*tenant{})
	return s
}

// Put serves object, which has no faults by definition.Check, from now on. If it returns an error, the version before is
// still served, if there is one. If no API server of that version is left, the object may describe another cluster now: then
// nothing is kept that the API servers of before said about clients, and objects. If there are too many clusters, the newest one is no
// longer served; if that is this one, the error is registry.ErrBeyond.
func (s *Set) Put(object *v1alpha1.UpstreamCluster) error {
	s.mu.Lock()
	closed := s.yield(object)
	var err error
	if s.places.beyond(object.Name) {
		err = s.places.err()
		delete(s.faults, object.Name)
	} else {
		var replaced *tenant
		if replaced, err = s.put(object); replaced != nil {
			closed = append(closed, replaced)
		}
		if s.tenants[object.Name] == nil {
			s.places.remove(object.Name)
		}
	}
	s.mu.Unlock()
	for _, t := range closed {
		t.close()
	}
	return err
}

// yield enters a cluster among those that have a place, and returns the one that has none any more. The caller holds the lock.
func (s *Set) yield(object *v1alpha1.UpstreamCluster) []*tenant {
	loser := s.places.put(object.Name, object.CreationTimestamp)
	t := s.tenants[loser]
	if t == nil {
		return nil
	}
	t.log.Error("the cluster is no longer served: older ones take all places")
	s.credentials.Forget(loser)
	delete(s.tenants, loser)
	s.claim()
	return []*tenant{t}
}

// Beyond reports whether a cluster is not served because older ones take all places.
func (s *Set) Beyond(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places.beyond(name)
}

// refused counts the clusters of which that is true.
func (s *Set) refused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.places.rest.Len()
}

// put returns a cluster that is no longer served, if there is one. The caller holds the lock.
func (s *Set) put(given *v1alpha1.UpstreamCluster) (replaced *tenant, err error) {
	t := s.tenants[given.Name]
	object := s.credentials.Resolve(given)
	if t != nil && disjoint(t.cluster.Object().Spec.Servers, object.Spec.Servers) {
		t, replaced = nil, t
	}
	isNew := t == nil
	if isNew {
		if t, err = s.make(object.Name); err != nil {
			return nil, err
		}
	}
	delete(s.faults, object.Name)
	before := t.cluster.Object()
	if before != nil && waits(object) && !waits(before) { // it is served until the credentials of this version are there
		t.given = given
		return replaced, nil
	}
	if before == nil || !equality.Semantic.DeepEqual(before.Spec, object.Spec) || !before.CreationTimestamp.Equal(&object.CreationTimestamp) {
		if err := t.cluster.Update(object); err != nil {
			s.faults[object.Name] = err
			if isNew {
				t.close()
			}
			return nil, err
		}
	}
	t.given = given
	s.tenants[object.Name] = t
	s.claim()
	return replaced, nil
}

// renew serves a cluster with the credentials that were obtained since its object was put.
func (s *Set) renew(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[name]
	if t == nil {
		return
	}
	fault := s.faults[name]
	_, err := s.put(t.given)
	if rejected := (rejection{}); err == nil && errors.As(fault, &rejected) {
		s.faults[name] = rejected // of another version, or of another definition
	}
	if err != nil { // its API servers are the same, so that nothing is replaced
		t.log.WithError(err).Error("new credentials of a cluster cannot be used; the last ones are used")
	}
}

// waits reports whether credentials are missing that an object refers to.
func waits(object *v1alpha1.UpstreamCluster) bool { return object.Spec.ClientConfig.Credentials != nil }

// disjoint reports whether two lists have no endpoint in common.
func disjoint(a, b []v1alpha1.UpstreamClusterServer) bool {
	return !slices.ContainsFunc(a, func(x v1alpha1.UpstreamClusterServer) bool {
		return slices.ContainsFunc(b, func(y v1alpha1.UpstreamClusterServer) bool { return x.Endpoint == y.Endpoint })
	})
}

// rejection is a fault that is not of the version in force, so that new credentials of that leave it.
type rejection struct{ error }

// Unwrap is for errors.Is.
func (r rejection) Unwrap() error { return r.error }

// Reject records that the newest version of a cluster has faults, after which the version before is still served, if there is one, or that
// it is one of several, which is registry.ErrDuplicate, and takes no place from it.
func (s *Set) Reject(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[name] = rejection{err}
	if s.tenants[name] == nil && !errors.Is(err, registry.ErrDuplicate) {
		s.places.remove(name)
	}
}

// Delete serves a cluster no longer. Its watches end.
func (s *Set) Delete(name string) {
	s.mu.Lock()
	t := s.tenants[name]
	s.credentials.Forget(name)
	delete(s.tenants, name)
	delete(s.faults, name)
	s.places.remove(name)
	s.claim()
	s.mu.Unlock()
	if t != nil {
		t.close()
	}
}

// Faults returns why the newest versions of clusters are not served, or registry.ErrDuplicate, by their names.
func (s *Set) Faults() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.faults)
}

// Conflict returns which host names of a cluster belong to others; "" if none do.
func (s *Set) Conflict(name string) string {
	hosts := *s.hosts.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tenants[name]
	if t == nil {
		return ""
	}
	var lost []string
	for _, host := range t.hosts() {
		if owner := hosts[host]; owner != nil && owner != t {
			lost = append(lost, fmt.Sprintf("the host name %s belongs to cluster %s", host, owner.cluster.Name()))
		}
	}
	return strings.Join(lost, "; ")
}

// claim decides which cluster has which host name: the one whose own name it is, otherwise the oldest. All instances of the
// gateway decide alike. The caller holds the lock.
func (s *Set) claim() {
	hosts := map[string]*tenant{}
	all := s.sorted()
	for _, t := range all {
		hosts[strings.ToLower(t.cluster.Name())] = t
	}
	for _, t := range all {
		for _, host := range t.hosts() {
			if hosts[host] == nil {
				hosts[host] = t
			}
		}
	}
	s.hosts.Store(&hosts)
}

// sorted returns the clusters, the oldest first. The caller holds the lock.
func (s *Set) sorted() []*tenant {
	out := make([]*tenant, 0, len(s.tenants))
	for _, t := range s.tenants {
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b *tenant) int {
		x, y := a.cluster.Object(), b.cluster.Object()
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// all returns the clusters, the oldest first.
func (s *Set) all() []*tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sorted()
}

// find returns the cluster with a host name, which may have a port; nil if there is none.
func (s *Set) find(host string) *tenant { return (*s.hosts.Load())[bare(host)] }

// bare is a host without its port and final dot, in lower case.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// close ends all clusters.
func (s *Set) close() {
	for _, t := range s.all() {
		s.Delete(t.cluster.Name())
	}
}

// Endpoints describes the API servers of a cluster.
func (s *Set) Endpoints(name string) []upstream.EndpointStatus {
	s.mu.Lock()
	t := s.tenants[name]
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.cluster.Endpoints()
}
