package tungsten

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// maxOrdered is how many rules of one ordered stage a policy may refer to: its references are replaced by one request, whose size
// the server limits to about 1 MB.
const maxOrdered = 4000

// maxRaised is how many rules may take the place of those that pass, see intent.Lowering.
const maxRaised = maxOrdered / 2

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

// render renders a snapshot in which no rule of the admin tier passes.
func render(names namer, local locality, want *intent.Snapshot, full limits, kept []*vip) *rendering {
	r := newRendering(names, local, want, full, servicesOf(want, kept))
	for _, d := range intent.Directions() {
		r.direction(d)
	}
	r.skips = append(r.skips, r.unevenSkips()...)
	slices.SortFunc(r.uses, func(a, b use) int {
		return strings.Compare(a.tag+"\x00"+string(a.set), b.tag+"\x00"+string(b.set))
	})
	for _, u := range r.uses {
		r.tag(u.tag, r.title(u.set))
	}
	r.usage = usageOf(names, r.objects)
	r.noteLimits()
	return r
}

// newRendering returns a rendering without objects.
func newRendering(names namer, local locality, want *intent.Snapshot, full limits, s *services) *rendering {
	return &rendering{
		balanced: s, uneven: map[intent.LoadBalancerID]bool{}, skipped: map[backends.Skip]bool{},
		names: names, local: local, want: want, limits: full, lacking: map[string]*tungsten.Object{}, objects: map[string]*tungsten.Object{}, used: map[use]bool{},
		listed: map[intent.SetID]bool{}, governed: map[intent.SetID]bool{},
	}
}

// direction renders the policy set of a direction.
func (r *rendering) direction(d intent.Direction) {
	cover := r.names.coverTag(d)
	r.tag(cover, "endpoints that policies govern for "+d.String())
	r.govern(d, intent.IsolatedSet(d))
	if isolated := r.names.isolatedTag(d); !r.lacks(isolated, isolatedTitle+d.String()) {
		r.tag(isolated, isolatedTitle+d.String())
		r.use(use{tag: isolated, set: intent.IsolatedSet(d)})
	}
	set := r.object(tungsten.KindApplicationPolicySet, r.names.setName(d), "policies for "+d.String())
	set.TagRefs = []tungsten.Ref{r.refTo(tungsten.KindTag, cover)}
	for _, s := range stages() {
		rules := s.split(r.stage(d, s))
		for _, part := range partsOf(d, s) {
			p := r.object(tungsten.KindFirewallPolicy, r.names.policyName(part), s.String()+" rules for "+d.String())
			p.FirewallRuleRefs = rules[part.index]
			at := place(len(set.FirewallPolicyRefs))
			set.FirewallPolicyRefs = append(set.FirewallPolicyRefs, r.refTo(tungsten.KindFirewallPolicy, p.Name()).InSequence(at))
		}
	}
}

// govern covers the members of a set: the policy set of the direction applies to them.
func (r *rendering) govern(d intent.Direction, set intent.SetID) {
	r.governed[set] = true
	r.use(use{tag: r.names.coverTag(d), set: set})
}

// stage returns references to the rules of a stage.
func (r *rendering) stage(d intent.Direction, s stage) []tungsten.Ref {
	var rules []string
	switch s {
	case stageVIPIsolation:
		return r.vipIsolation(d)
	case stageVIPRest:
		return r.vipRest(d)
	case stageIsolation:
		return []tungsten.Ref{r.fixed(d, s, r.isolated(d), false).InSequence(place(0))}
	case stageRest:
		return []tungsten.Ref{r.fixed(d, s, endpoint{}, true).InSequence(place(0))}
	case stageAdmin, stageBaseline, stageVIPAdmin, stageVIPBaseline:
		return inOrder(r, r.ranked(d, s))
	case stageSystem, stageDeny, stageAllow, stageVIPSystem, stageVIPDeny, stageVIPAllow:
		for p := range r.want.Policies() {
			if p.Direction == d {
				rules = append(rules, r.unordered(p, s)...)
			}
		}
	}
	slices.Sort(rules)
	out := make([]tungsten.Ref, 0, len(rules))
	for _, name := range slices.Compact(rules) {
		out = append(out, r.refTo(tungsten.KindFirewallRule, name).InSequence(sequenceOf(name)))
	}
	return out
}

// inOrder numbers rules one after the other. A rule that is given twice counts once, at its first place.
func inOrder(r *rendering, rules []string) []tungsten.Ref {
	out := make([]tungsten.Ref, 0, len(rules))
	seen := make(map[string]bool, len(rules))
	for _, name := range rules {
		if !seen[name] {
			seen[name] = true
			out = append(out, r.refTo(tungsten.KindFirewallRule, name).InSequence(place(len(out))))
		}
	}
	return out
}

// unordered renders those rules of a policy that belong to a stage without order.
func (r *rendering) unordered(p *intent.Policy, s stage) []string {
	system := s.base() == stageSystem
	if (p.Tier == intent.TierSystem) != system || p.Tier.Ordered() || s.vip() && len(r.balanced.vips) == 0 {
		return nil
	}
	var out []string
	for i := range p.Rules {
		allows := p.Rules[i].Action == intent.Allow
		if !system && allows != (s.base() == stageAllow) {
			continue
		}
		if p.Rules[i].Action > intent.Pass {
			r.skip(p, &p.Rules[i], fmt.Sprintf("unknown action %d; the rule denies", uint8(p.Rules[i].Action)))
		}
		if system && !allows {
			r.skip(p, &p.Rules[i], "system rules can only allow")
			continue
		}
		out = append(out, r.ruleOf(s, p, i, allows)...)
	}
	return out
}

// ruleOf renders the i-th rule of a policy for a stage.
func (r *rendering) ruleOf(s stage, p *intent.Policy, i int, allows bool) []string {
	if s.vip() {
		return r.vipRule(p, i, allows)
	}
	return r.rule(p, i, allows)
}

// ranked renders the rules of an ordered tier. Those beyond the limit deny everything to their subjects.
func (r *rendering) ranked(d intent.Direction, s stage) []string {
	tier := intent.TierAdmin
	if s.base() == stageBaseline {
		tier = intent.TierBaseline
	}
	var out []string
	for p := range r.want.Ranked(tier) {
		if p.Direction != d {
			continue
		}
		if len(out) >= maxOrdered {
			r.skip(p, &intent.Rule{Path: "spec"}, fmt.Sprintf("more than %d rules of one tier and direction; the policy denies everything", maxOrdered))
			all := *p
			all.Rules = []intent.Rule{{Path: "spec", Peer: intent.Peer{Kind: intent.PeerAny}, Ports: intent.Ports{Any: true}}}
			out = append(out, r.ruleOf(s, &all, 0, false)...)
			continue
		}
		for i := range p.Rules {
			if p.Rules[i].Action > intent.Pass {
				r.skip(p, &p.Rules[i], fmt.Sprintf("unknown action %d; the rule denies", uint8(p.Rules[i].Action)))
			}
			// What passes the last tier is allowed; in the admin tier nothing passes any more.
			allows := p.Rules[i].Action == intent.Allow || p.Rules[i].Action == intent.Pass && tier == intent.TierBaseline
			out = append(out, r.ruleOf(s, p, i, allows)...)
		}
	}
	return out
}

func (r *rendering) skip(p *intent.Policy, rule *intent.Rule, reason string) {
	skip := backends.Skip{Intent: string(p.ID), Reason: rule.Path + ": " + reason}
	if !r.skipped[skip] {
		r.skipped[skip] = true
		r.skips = append(r.skips, skip)
	}
}

// use records that the members of a set have a tag.
func (r *rendering) use(u use) {
	if !r.used[u] {
		r.used[u] = true
		r.uses = append(r.uses, u)
	}
}

// title describes a set for people.
func (r *rendering) title(id intent.SetID) string {
	if set := r.want.Set(id); set != nil && set.Title != "" {
		return set.Title
	}
	return string(id)
}

// maxNote limits what annotations quote.
const maxNote = 1000

func note(text string) string {
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote], "") + "…"
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
