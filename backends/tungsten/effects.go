package tungsten

import (
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// effects is what a plan does to connections, as far as it decides on the order of phases.
type effects struct {
	opens, closes [2]bool                        // by direction: some connection may be opened, or closed
	orders        int                            // ordered lists that are replaced
	mixed         bool                           // something takes effect in a stage where order matters
	joins, leaves map[string]map[object.Key]bool // by the UUID of a tag that rules use already
	added         []*tungsten.Object             // rules
	removed       []*tungsten.Object
	regroup       []regroup
	groups        bool // an address group changes
	balancers     bool // so does a load balancer
	// basic reports, by direction, that only NetworkPolicies decide on who is not isolated: then whatever opens does so only for
	// endpoints that are isolated before, and whatever closes for those that are isolated afterwards.
	basic [2]bool
	// before and after are, by direction, the tags of endpoints that are isolated in a state.
	before, after [2]map[string]bool
}

// rule records that a policy gains or loses a reference to a rule, and returns the phase for it.
func (e *effects) rule(names namer, rule *tungsten.Object, d intent.Direction, s stage, gain bool) phase {
	allows := passes(rule)
	if rule != nil {
		if gain {
			e.added = append(e.added, rule)
		} else {
			e.removed = append(e.removed, rule)
		}
	}
	if !allows || s.base() != stageAllow && s.base() != stageSystem {
		e.mixed = true
	}
	state, flag := e.before, &e.opens
	if gain != allows {
		state, flag = e.after, &e.closes
	}
	if e.basic[d] && rule != nil && s == stageAllow {
		subjects, _ := tagsOfRule(names, rule, d)
		for _, id := range subjects {
			flag[d] = flag[d] || state[d][id]
		}
	} else {
		flag[d] = true
	}
	switch {
	case allows && gain:
		return addAllow
	case allows:
		return removeAllow
	case gain:
		return addDeny
	default:
		return removeDeny
	}
}

// group records that an address group changes.
func (e *effects) group(deny, grows, shrinks bool) {
	e.groups = true
	e.mixed = e.mixed || deny
	for d := range e.opens {
		e.opens[d] = e.opens[d] || grows != deny || shrinks == deny && shrinks
		e.closes[d] = e.closes[d] || shrinks != deny || grows == deny && grows
	}
}

// cover records that a policy set begins or ceases to apply to an interface.
func (e *effects) cover(names namer, name string, gain bool) {
	for _, d := range intent.Directions() {
		if name == names.coverTag(d) {
			e.closes[d] = e.closes[d] || gain
			e.opens[d] = e.opens[d] || !gain
		}
	}
}

// tag records that an interface gains or loses a tag that rules use.
func (e *effects) tag(names namer, usages [2]usage, p *port, name, id string, gain bool) {
	for _, d := range intent.Directions() {
		if name == names.isolatedTag(d) {
			e.closes[d] = e.closes[d] || gain
			e.opens[d] = e.opens[d] || !gain
			return
		}
	}
	if gain {
		e.note(&e.joins, id, p.key)
	} else {
		e.note(&e.leaves, id, p.key)
	}
	e.mixed = e.mixed || names.isDenyTag(name)
	for _, u := range usages {
		use := u[id]
		if use == nil {
			continue
		}
		e.mixed = e.mixed || use.ordered
		for _, d := range intent.Directions() {
			isolated := names.uuid(tungsten.KindTag, names.isolatedTag(d))
			as := use.peer[d]
			if gain {
				as = as || use.subject[d] && (!e.basic[d] || p.tags[isolated])
				e.opens[d] = e.opens[d] || as
			} else {
				as = as || use.subject[d] // whether it is isolated afterwards does not matter much: it is one endpoint
				e.closes[d] = e.closes[d] || as
			}
		}
	}
}

func (e *effects) note(in *map[string]map[object.Key]bool, id string, k object.Key) {
	if *in == nil {
		*in = map[string]map[object.Key]bool{}
	}
	if (*in)[id] == nil {
		(*in)[id] = map[object.Key]bool{}
	}
	(*in)[id][k] = true
}

// opensFirst reports whether the plan can be written in the order of openFirst: it then opens nothing that both states deny.
func (e *effects) opensFirst(names namer, usages [2]usage) bool {
	if e.balancers {
		return false
	}
	if e.orders > 0 {
		return e.orders == 1 && !e.mixed && !e.groups && len(e.joins)+len(e.leaves)+len(e.added)+len(e.removed) == 0
	}
	if e.mixed || e.opens[0] && e.closes[1] || e.opens[1] && e.closes[0] {
		return false
	}
	if e.groups && len(e.joins)+len(e.leaves)+len(e.added)+len(e.removed) > 0 {
		return false
	}
	for _, rule := range e.added {
		if anyOf(names, rule, e.leaves) {
			return false
		}
	}
	for _, rule := range e.removed {
		if anyOf(names, rule, e.joins) {
			return false
		}
	}
	return !e.crossing(usages)
}

// anyOf reports whether a rule uses one of the tags.
func anyOf(names namer, rule *tungsten.Object, tags map[string]map[object.Key]bool) bool {
	for _, end := range []*tungsten.Endpoint{rule.Endpoint1, rule.Endpoint2} {
		for _, id := range tagsOfEnd(names, end) {
			if len(tags[id]) > 0 {
				return true
			}
		}
	}
	return false
}

// crossing reports whether one endpoint joins an end of a rule while another leaves the other end: for a moment the rule would
// match a pair that it matches neither before nor after.
func (e *effects) crossing(usages [2]usage) bool {
	for id, joined := range e.joins {
		for _, u := range usages {
			if u[id] == nil {
				continue
			}
			for partner := range u[id].partners {
				left := e.leaves[partner]
				if len(left) == 0 {
					continue
				}
				if len(joined) > 1 || len(left) > 1 {
					return true
				}
				for k := range left {
					if !joined[k] {
						return true
					}
				}
			}
		}
	}
	return false
}

// findIsolated finds the tags of isolated endpoints: of an interface, those that it has or will have.
func (e *effects) findIsolated(names namer, all []*port, tags wanted) {
	for _, d := range intent.Directions() {
		e.before[d], e.after[d] = map[string]bool{}, map[string]bool{}
		id := names.uuid(tungsten.KindTag, names.isolatedTag(d))
		for _, p := range all {
			var into []map[string]bool
			if p.tags[id] {
				into = append(into, e.before[d])
			}
			for _, t := range tags[p.key] {
				if t == id {
					into = append(into, e.after[d])
				}
			}
			for _, m := range into {
				for t := range p.tags {
					m[t] = true
				}
				for _, t := range tags[p.key] {
					m[t] = true
				}
			}
		}
	}
}

// findBasic finds the directions in which no policy of an ordered tier decides, before and after.
func (e *effects) findBasic(names namer, have, want map[string]*tungsten.Object) {
	e.basic = [2]bool{true, true}
	for _, p := range parts() {
		if s := p.stage; !s.ordered() && s.base() != stageDeny && s.base() != stageSystem {
			continue
		}
		for _, in := range []map[string]*tungsten.Object{have, want} {
			o := in[names.uuid(tungsten.KindFirewallPolicy, names.policyName(p))]
			if o != nil && len(o.FirewallRuleRefs) > 0 {
				e.basic[p.direction] = false
			}
		}
	}
}

// regroup is an address group that gains and loses prefixes.
type regroup struct {
	deny         bool
	have, want   *tungsten.Object
	fewest, most *tungsten.Object // the prefixes of both states, and of either
}
