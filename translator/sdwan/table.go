package sdwan

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator/dirty"
	"github.com/netloom/netloom/translator/field"
	"github.com/netloom/netloom/translator/host"
	"github.com/netloom/netloom/translator/owner"
	"github.com/netloom/netloom/translator/sets"
)

// Table holds the SD-WAN objects, the pods of CNFs, and what they translate to. It is not safe for concurrent use.
type Table struct {
	source     field.Source
	options    Options
	sets       *sets.Table
	dirty      *dirty.Queue
	problems   *object.Problems
	objects    map[object.Ref]metav1.Object // SD-WAN resources, and Services as service rules
	services   map[object.Ref]*corev1.Service
	translated map[object.Ref]*result
	lookers    map[object.Ref]map[object.Ref]bool // objects that depend on an object or a host, whether or not it exists
	hosts      *host.Table
	ports      *owner.Table[port, candidate]
	devices    deviceTable
	unknown    intent.Areas // that are unavailable
}

// result is what one object became.
type result struct {
	intents []*intent.DeviceIntent
	looks   []object.Ref // what it depends on besides its own object
	asks    []asked
	offer   offer
	refs    sets.Refs
}

// NewTable makes an empty table.
func NewTable(
	source field.Source, opts Options, s *sets.Table, hosts *host.Table, queue *dirty.Queue, problems *object.Problems,
) *Table {
	return &Table{
		source: source, options: opts, sets: s, dirty: queue, problems: problems,
		objects:    map[object.Ref]metav1.Object{},
		services:   map[object.Ref]*corev1.Service{},
		translated: map[object.Ref]*result{},
		lookers:    map[object.Ref]map[object.Ref]bool{},
		hosts:      hosts,
		ports:      owner.NewTable[port](candidate.compare),
		devices:    newDeviceTable(),
	}
}

// Put adds or replaces an SD-WAN resource. It returns false for anything else.
func (t *Table) Put(o any) bool {
	r, _, ok := v1alpha1.ResourceOf(o)
	resource, is := o.(v1alpha1.Object)
	if !ok || !is {
		return false
	}
	t.put(object.Ref{Kind: r.Kind, Namespace: resource.GetNamespace(), Name: resource.GetName()}, resource)
	return true
}

func (t *Table) put(ref object.Ref, o metav1.Object) {
	t.objects[ref] = o
	t.dirty.Add(dirty.Resources, ref)
}

// Remove removes an SD-WAN resource.
func (t *Table) Remove(ref object.Ref) {
	delete(t.objects, ref)
	t.dirty.Add(dirty.Resources, ref)
}

// add records that an object depends on another.
func (t *Table) add(looker, at object.Ref) {
	if t.lookers[at] == nil {
		t.lookers[at] = map[object.Ref]bool{}
		if at.Kind == kindHost {
			t.hosts.Use(at.Name)
		}
	}
	t.lookers[at][looker] = true
}

// drop records that it no longer does.
func (t *Table) drop(looker, at object.Ref) {
	delete(t.lookers[at], looker)
	if len(t.lookers[at]) == 0 {
		delete(t.lookers, at)
		if at.Kind == kindHost {
			t.hosts.Release(at.Name)
		}
	}
}

// touch has the objects that depend on an object translated again.
func (t *Table) touch(at object.Ref) {
	for looker := range t.lookers[at] {
		t.dirty.Add(dirty.Resources, looker)
	}
}

// Translate translates what is dirty.
func (t *Table) Translate(next *intent.Builder) {
	for t.dirty.Len(dirty.Resources) > 0 {
		for _, ref := range t.dirty.Take(dirty.Resources, compareRank) {
			t.translate(ref, next)
		}
	}
}

func (t *Table) translate(ref object.Ref, next *intent.Builder) {
	old := t.translated[ref]
	var now *result
	var faults []object.Problem
	switch o := t.objects[ref].(type) {
	case nil:
	case *corev1.Service:
		now, faults = t.translateServiceRule(ref, o)
	default:
		now, faults = t.translateResource(ref, o)
	}
	t.problems.Set(ref, faults)
	if now == nil {
		delete(t.translated, ref)
	} else {
		t.translated[ref] = now
	}
	t.track(ref, old, now)
	putIntents(next, old, now)
}

// track brings what results depend on in sync with a new one. Nil means none.
func (t *Table) track(ref object.Ref, old, now *result) {
	old, now = cmp.Or(old, &result{}), cmp.Or(now, &result{})
	t.sets.Show(&now.refs)
	t.sets.Replace(ref, &old.refs, &now.refs)
	for _, at := range now.looks {
		t.add(ref, at)
	}
	for _, at := range old.looks {
		if !slices.Contains(now.looks, at) {
			t.drop(ref, at)
		}
	}
	for _, rival := range t.reown(old.asks, now.asks) {
		t.dirty.Add(dirty.Resources, rival)
	}
	if old.offer != now.offer {
		t.touch(ref)
	}
}

// putIntents writes the device intents that differ. Those that did not change are left alone.
func putIntents(next *intent.Builder, old, now *result) {
	before := map[intent.DeviceIntentID]*intent.DeviceIntent{}
	if old != nil {
		for _, e := range old.intents {
			before[e.ID] = e
		}
	}
	if now != nil {
		for i, e := range now.intents {
			if was := before[e.ID]; was != nil && reflect.DeepEqual(was, e) {
				now.intents[i] = was
			} else {
				next.PutDeviceIntent(e)
			}
			delete(before, e.ID)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		next.DropDeviceIntent(id)
	}
}

// SetUnknown sets the areas that are unavailable because their sources could not be read, for the next snapshot. Without load
// balancers, that is Services, devices are unavailable too if they are made from Services, and names of Services are resolved
// by DNS.
func (t *Table) SetUnknown(areas intent.Areas) {
	if t.unknown.Has(intent.AreaBalancers) != areas.Has(intent.AreaBalancers) {
		for at := range t.lookers {
			if at.Kind == object.KindService {
				t.touch(at)
			}
		}
	}
	t.unknown = areas
}

// Unknown returns the areas that are unavailable.
func (t *Table) Unknown() intent.Areas {
	if t.unknown.Has(intent.AreaBalancers) && t.options.ServiceRules != ServiceRulesOff {
		return t.unknown | intent.AreaDevices
	}
	return t.unknown
}

// compareRank is Ref.Compare, but objects that others refer to come first, so that those that refer to them are translated
// once.
func compareRank(a, b object.Ref) int {
	rank := func(r object.Ref) int {
		if k, _ := v1alpha1.ResourceOfKind(r.Kind); k.Referenced {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Compare(b))
}

// Len counts what the table keeps for objects.
func (t *Table) Len() int {
	d := &t.devices
	return len(t.objects) + len(t.services) + len(t.translated) + len(t.lookers) + t.ports.Len() +
		len(d.byRef) + len(d.scopes) + len(d.removed)
}
