package tungsten

import (
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// use is a tag and a set whose members have it.
type use struct {
	tag  string
	set  intent.SetID
	peer bool // only members whose addresses are their own
}

// locality is the clusters whose endpoints have interfaces on the controller; nil are all.
type locality map[string]bool

func (l locality) has(cluster string) bool { return l == nil || l[cluster] }

// rendering is the objects that a snapshot becomes.
type rendering struct {
	names   namer
	local   locality
	want    *intent.Snapshot
	limits  limits
	lacking map[string]*tungsten.Object // tags that the controller has no ID for, by name

	objects map[string]*tungsten.Object // by UUID
	uses    []use
	used    map[use]bool
	// listed are the sets that became lists of addresses: rules depend on the addresses of their members.
	listed   map[intent.SetID]bool
	usage    usage
	governed map[intent.SetID]bool // the sets of endpoints to which something is denied
	skips    []backends.Skip
	skipped  map[backends.Skip]bool
	balanced *services
	uneven   map[intent.LoadBalancerID]bool // load balancers with backends that policies do not treat alike
	bare     map[object.Key]bool            // members of sets of peers that have no addresses of their own
}

// newRendering returns a rendering without objects.
func newRendering(names namer, local locality, want *intent.Snapshot, full limits, s *services) *rendering {
	return &rendering{
		balanced: s, uneven: map[intent.LoadBalancerID]bool{}, skipped: map[backends.Skip]bool{},
		names: names, local: local, want: want, limits: full, lacking: map[string]*tungsten.Object{}, objects: map[string]*tungsten.Object{}, used: map[use]bool{},
		listed: map[intent.SetID]bool{}, governed: map[intent.SetID]bool{},
	}
}

// govern covers the members of a set: the policy set of the direction applies to them, and that of ingress in any case. It ends with a
// rule that passes, so that no policy set of others which is tied to a tag of a later type decides on these interfaces.
func (r *rendering) govern(d intent.Direction, set intent.SetID) {
	r.governed[set] = true
	r.use(use{tag: r.names.coverTag(d), set: set})
	r.use(use{tag: r.names.coverTag(intent.Ingress), set: set})
}

// use records that the members of a set have a tag.
func (r *rendering) use(u use) {
	if !r.used[u] {
		r.used[u] = true
		r.uses = append(r.uses, u)
	}
}

// lacks reports whether the controller has no ID for a tag, and records that it is needed.
func (r *rendering) lacks(tag, what string) bool {
	if !r.limits.refuses(r.names, tag) {
		return false
	}
	r.lacking[tag] = r.newTag(tag, what)
	return true
}

func (r *rendering) skip(p *intent.Policy, rule *intent.Rule, reason string) {
	skip := backends.Skip{Intent: string(p.ID), Reason: rule.Path + ": " + reason}
	if !r.skipped[skip] {
		r.skipped[skip] = true
		r.skips = append(r.skips, skip)
	}
}

// title describes a set for people.
func (r *rendering) title(id intent.SetID) string {
	if set := r.want.Set(id); set != nil && set.Title != "" {
		return set.Title
	}
	return string(id)
}

// object adds an object of the owner below the policy management.
func (r *rendering) object(kind tungsten.Kind, name, what string) *tungsten.Object {
	o := &tungsten.Object{
		Kind: kind, UUID: r.names.uuid(kind, name), FQName: []string{management, name}, ParentType: tungsten.KindPolicyManagement,
		Annotations: tungsten.NewAnnotations(map[string]string{annotationOwner: r.names.owner, annotationFor: note(what)}),
	}
	r.objects[o.UUID] = o
	return o
}

// tag adds a tag. It is described by the first of its users.
func (r *rendering) tag(name, what string) {
	id := r.names.uuid(tungsten.KindTag, name)
	if r.objects[id] != nil {
		return
	}
	r.objects[id] = r.newTag(name, what)
}

func (r *rendering) newTag(name, what string) *tungsten.Object {
	kind, value, _ := strings.Cut(name, "=")
	return &tungsten.Object{
		Kind: tungsten.KindTag, UUID: r.names.uuid(tungsten.KindTag, name), FQName: []string{name}, TagTypeName: kind, TagValue: value,
		Annotations: tungsten.NewAnnotations(map[string]string{annotationOwner: r.names.owner, annotationFor: note(what)}),
	}
}

// refTo refers to an object of the owner by its name.
func (r *rendering) refTo(kind tungsten.Kind, name string) tungsten.Ref {
	ref := tungsten.RefTo(management, name)
	if kind == tungsten.KindTag {
		ref = tungsten.RefTo(name)
	}
	ref.UUID = r.names.uuid(kind, name)
	return ref
}

// at is r for a snapshot in which only members differ.
func (r *rendering) at(want *intent.Snapshot, s *services) *rendering {
	next := *r
	next.want, next.balanced = want, s
	return &next
}

// maxNote limits what annotations quote.
const maxNote = 1000

func note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "…"
}
