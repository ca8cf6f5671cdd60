package tungsten

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

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

// noteLimits annotates the policy set of ingress with the types of the tags that are lacking.
func (r *rendering) noteLimits() {
	types := map[string]bool{}
	for tag := range r.lacking {
		types[typeOf(tag)] = true
	}
	if len(types) == 0 {
		return
	}
	set := r.objects[r.names.uuid(tungsten.KindApplicationPolicySet, r.names.setName(intent.Ingress))]
	notes := set.Annotations.Map()
	notes[annotationFull] = strings.Join(slices.Sorted(maps.Keys(types)), " ")
	set.Annotations = tungsten.NewAnnotations(notes)
}
