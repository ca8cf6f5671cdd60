package translator

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// service is a Service with all that belongs to it, and what became of it.
type service struct {
	key     objectKey
	object  *corev1.Service           // nil while only its slices are known
	slices  []*endpointSlice          // by name
	created metav1.Time               // with which it stands in the claims
	wanted  *intent.LoadBalancer      // every frontend that it claims, whoever has it; nil is none
	pools   map[pool][]intent.Backend // behind the frontends of wanted
	faults  []Problem                 // of the object itself
	current *intent.LoadBalancer      // what the snapshot has; nil is none
}

// serviceTable holds the Services and their slices. A change marks one Service dirty and looks at no other.
type serviceTable struct {
	byKey   map[objectKey]*service
	slices  map[objectKey]*endpointSlice
	claims  claims
	dirty   map[objectKey]bool
	onNodes map[objectKey]bool // those with node ports
}

func newServiceTable() *serviceTable {
	return &serviceTable{
		byKey:   map[objectKey]*service{},
		slices:  map[objectKey]*endpointSlice{},
		claims:  claims{},
		dirty:   map[objectKey]bool{},
		onNodes: map[objectKey]bool{},
	}
}

// at is the service of a key, made when nothing is known of it yet. It becomes dirty.
func (t *serviceTable) at(key objectKey) *service {
	s := t.byKey[key]
	if s == nil {
		s = &service{key: key}
		t.byKey[key] = s
	}
	t.dirty[key] = true
	return s
}

// putSlice files a slice under its service; nil takes it out.
func (t *serviceTable) putSlice(key objectKey, now *endpointSlice) {
	if old := t.slices[key]; old != nil {
		s := t.at(old.service)
		s.slices = slices.DeleteFunc(s.slices, func(e *endpointSlice) bool { return e == old })
		delete(t.slices, key)
	}
	if now == nil {
		return
	}
	t.slices[key] = now
	s := t.at(now.service)
	i, _ := slices.BinarySearchFunc(s.slices, now, (*endpointSlice).compare)
	s.slices = slices.Insert(s.slices, i, now)
}

// dirtyOnNodes marks the services whose frontends are addresses of nodes.
func (t *serviceTable) dirtyOnNodes() {
	maps.Copy(t.dirty, t.onNodes)
}

// translateServices translates the services that changed and writes those that came out different. Claims are made by
// all of them before anybody is told what it won, so no frontend is ever written for two.
func (t *Translator) translateServices(next *intent.Builder) {
	settle := t.services.dirty
	if len(settle) == 0 {
		return
	}
	t.services.dirty = map[objectKey]bool{}
	for _, key := range slices.SortedFunc(maps.Keys(settle), objectKey.compare) {
		for _, rival := range t.translateService(t.services.byKey[key]) {
			settle[rival.key] = true
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(settle), objectKey.compare) {
		t.settle(t.services.byKey[key], next)
	}
}

// translateService finds out what s wants and claims it. It returns those whose claims met the ones that changed.
func (t *Translator) translateService(s *service) []*service {
	was := s.wanted
	var now serviceTranslation
	var created metav1.Time
	if s.object != nil {
		now, created = t.frontends(s), s.object.CreationTimestamp
	}
	s.wanted = now.balancer()
	s.pools, s.faults = now.pools, now.list
	delete(t.services.onNodes, s.key)
	if now.onNodes {
		t.services.onNodes[s.key] = true
	}
	return t.services.claims.replace(s, was, created)
}

// settle writes the frontends that s won, if they differ from what was written before.
func (t *Translator) settle(s *service, next *intent.Builder) {
	won, lost := t.services.claims.settle(s)
	t.setProblems(s.key, append(slices.Clone(s.faults), lost...))
	switch {
	case won == nil && s.current != nil:
		next.DropLoadBalancer(s.current.ID)
		s.current = nil
	case won != nil && !reflect.DeepEqual(won, s.current):
		next.PutLoadBalancer(won)
		s.current = won
	}
	if s.object == nil && len(s.slices) == 0 {
		delete(t.services.byKey, s.key)
	}
}
