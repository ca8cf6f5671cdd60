package tungsten

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// lost is what a full plan would remove for objects that the snapshot does not have. What is kept is added to what is wanted.
type lost struct {
	names namer
	keep  map[object.Ref]bool
	have  map[string]*tungsten.Object
	// unavailable are the load balancers that the owner has.
	unavailable unavailable
	ports       *ports
	next        *model
	objects     map[string]map[object.Ref]bool // by kind, all that have something
	gone        map[object.Ref]bool
	kept        map[object.Ref]bool
}

func (l *lost) run(want *intent.Snapshot) {
	l.objects, l.gone, l.kept = map[string]map[object.Ref]bool{}, map[object.Ref]bool{}, map[object.Ref]bool{}
	present := map[string]bool{}
	for p := range want.Policies() {
		present[p.Origin.Ref().Path()] = true
	}
	stays := map[string]bool{} // UUIDs of rules
	for _, id := range slices.Sorted(maps.Keys(l.have)) {
		o := l.have[id]
		text := o.Annotations.Get(annotationOrigin)
		if o.Kind != tungsten.KindFirewallRule || text == "" {
			continue
		}
		var ref object.Ref
		if err := ref.UnmarshalText([]byte(text)); err != nil {
			continue // someone changed it: the rule is repaired or swept
		}
		if l.add(ref); !present[text] && l.loses(ref) {
			stays[id] = true
		}
	}
	l.keepRules(stays)
	l.keepPorts()
	l.keepBalancers()
}

func (l *lost) add(ref object.Ref) {
	if l.objects[ref.Kind] == nil {
		l.objects[ref.Kind] = map[object.Ref]bool{}
	}
	l.objects[ref.Kind][ref] = true
}

// loses records that something of an object would be deleted, and reports whether it is kept.
func (l *lost) loses(ref object.Ref) bool {
	if l.keep[ref] {
		l.kept[ref] = true
		return true
	}
	l.gone[ref] = true
	return false
}

// keepRules keeps rules in their policies, with what they refer to.
func (l *lost) keepRules(rules map[string]bool) {
	if len(rules) == 0 {
		return
	}
	needed := map[string]bool{}
	for id := range rules {
		rule := l.have[id]
		l.next.objects[id] = rule
		for _, end := range endsOf(l.names, rule) {
			needed[end] = true
		}
	}
	for id := range needed {
		l.keepCover(id)
		if l.next.objects[id] == nil && l.have[id] != nil {
			l.next.objects[id] = l.have[id]
			l.keepTag(id)
		}
	}
	for id, o := range l.have {
		want := l.next.objects[id]
		if o.Kind != tungsten.KindFirewallPolicy || want == nil {
			continue
		}
		for _, ref := range o.FirewallRuleRefs {
			if rules[ref.UUID] {
				want.FirewallRuleRefs = append(want.FirewallRuleRefs, ref)
			}
		}
		l.renumber(want)
	}
}

// renumber gives the rules of an ordered stage places of their own again: those that are kept come last.
func (l *lost) renumber(policy *tungsten.Object) {
	if _, s := l.names.stageOf(policy); s.ordered() {
		for i := range policy.FirewallRuleRefs {
			policy.FirewallRuleRefs[i] = policy.FirewallRuleRefs[i].InSequence(place(i))
		}
	}
}

// keepCover keeps the policy sets that apply to the interfaces with a tag.
func (l *lost) keepCover(id string) {
	for _, d := range intent.Directions() {
		cover := l.names.uuid(tungsten.KindTag, l.names.coverTag(d))
		for _, p := range l.ports.byUUID {
			if p.tags[id] && p.tags[cover] {
				l.want(p.key, cover)
			}
		}
	}
}

// keepTag keeps a tag at the interfaces that have it.
func (l *lost) keepTag(id string) {
	for _, p := range l.ports.byUUID {
		if p.tags[id] {
			l.want(p.key, id)
		}
	}
}

func (l *lost) want(k object.Key, tag string) {
	tags := append(slices.Clone(l.next.tags[k]), tag)
	slices.Sort(tags)
	l.next.tags[k] = slices.Compact(tags)
}

// keepPorts checks the interfaces that are isolated. That one is not isolated any more is a loss of its own.
func (l *lost) keepPorts() {
	for _, d := range intent.Directions() {
		isolated := l.names.uuid(tungsten.KindTag, l.names.isolatedTag(d))
		cover := l.names.uuid(tungsten.KindTag, l.names.coverTag(d))
		for _, p := range l.ports.sorted() {
			if !p.tags[isolated] {
				continue
			}
			ref := object.Ref{Kind: backends.KindPort, Name: p.name}
			l.add(ref)
			if _, stays := slices.BinarySearch(l.next.tags[p.key], isolated); !stays && l.loses(ref) {
				l.want(p.key, isolated)
				l.want(p.key, cover)
				l.want(p.key, l.names.uuid(tungsten.KindTag, l.names.coverTag(intent.Ingress)))
			}
		}
	}
}

// describe lists in a plan what it removes and what it keeps.
func (l *lost) describe(p *backends.Plan) {
	p.Objects = make(map[string]int, len(l.objects))
	for kind, all := range l.objects {
		p.Objects[kind] = len(all)
	}
	p.Lost = slices.SortedFunc(maps.Keys(l.gone), object.Ref.Compare)
	p.Kept = slices.SortedFunc(maps.Keys(l.kept), object.Ref.Compare)
}

// keepBalancers keeps the load balancers of Services that are unavailable.
func (l *lost) keepBalancers() {
	of, gone := l.unavailable.services()
	for _, ref := range of {
		if l.add(ref); gone[ref] {
			l.loses(ref)
		}
	}
	for id, o := range l.unavailable.have {
		if ref, known := of[l.names.vipOf(o)]; known && l.kept[ref] && gone[ref] {
			l.next.balancers[id] = o
		}
	}
}
