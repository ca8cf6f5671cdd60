package tungsten

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// comparison finds the ops between what the owner has and what it should have.
type comparison struct {
	names      namer
	have, want map[string]*tungsten.Object // by UUID
	haveUsage  usage
	wantUsage  usage

	ops   []planned
	moves []move
	live  effects
	// ports and tags are those of the model to come, except for the tags of changed; held is what holders returns, nil before the first time.
	ports   *ports
	tags    wanted
	changed wanted
	held    map[string]ends
	bare    map[object.Key]bool // endpoints that were looked at, and whether they are without addresses of their own now
}

// usages is how rules use tags before and after.
func (c *comparison) usages() [2]usage { return [2]usage{c.haveUsage, c.wantUsage} }

// move is a tag that an interface gains or loses.
type move struct {
	port *port
	tag  string // UUID
	gain bool
}

// objects compares everything but the tags of interfaces.
func (c *comparison) objects() error {
	for _, id := range slices.Sorted(maps.Keys(c.want)) {
		want := c.want[id]
		if have := c.have[id]; have != nil {
			if err := c.change(have, want); err != nil {
				return err
			}
			continue
		}
		if err := c.create(want); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.have)) {
		if c.want[id] == nil {
			c.ops = append(c.ops, deleteOf(deletion(c.have[id].Kind), c.have[id]))
		}
	}
	return nil
}

// firstRefs is how many rules a policy refers to when it is created: more may not fit into one request.
const firstRefs = 2000

func (c *comparison) create(want *tungsten.Object) error {
	first := *want
	rest := []tungsten.Ref(nil)
	if len(want.FirewallRuleRefs) > firstRefs {
		first.FirewallRuleRefs, rest = want.FirewallRuleRefs[:firstRefs], want.FirewallRuleRefs[firstRefs:]
	}
	in := creation(want.Kind)
	if want.Kind == tungsten.KindTag && c.names.isBaseTag(want.Name()) {
		in = createBase
	}
	op, err := createOf(in, &first)
	c.ops = append(c.ops, op)
	for i := range rest {
		c.link(fillPolicy, want, &rest[i], c.want[rest[i].UUID], true)
	}
	return err
}

// change compares an object with what it should be.
func (c *comparison) change(have, want *tungsten.Object) error {
	switch want.Kind { //nolint:exhaustive // of the kinds that the backend writes
	case tungsten.KindFirewallPolicy:
		if err := c.rules(have, want); err != nil {
			return err
		}
		h, w := *have, *want
		h.FirewallRuleRefs, w.FirewallRuleRefs = nil, nil
		return c.update(creation(want.Kind), &h, &w)
	case tungsten.KindAddressGroup:
		return c.group(have, want)
	default:
		return c.update(creation(want.Kind), have, want)
	}
}

func (c *comparison) update(p phase, have, want *tungsten.Object) error {
	if reflect.DeepEqual(have, want) {
		return nil
	}
	op, differs, err := updateOf(p, have, want)
	if differs {
		c.ops = append(c.ops, op)
	}
	return err
}

// rules compares the references of a policy to rules.
func (c *comparison) rules(have, want *tungsten.Object) error {
	d, s := c.names.stageOf(want)
	if s.ordered() {
		return c.order(have, want, d)
	}
	has := map[string]string{}
	for _, ref := range have.FirewallRuleRefs {
		if !ref.Dangling() {
			has[ref.UUID] = ref.Sequence()
		}
	}
	wants := map[string]bool{}
	for i := range want.FirewallRuleRefs {
		ref := &want.FirewallRuleRefs[i]
		wants[ref.UUID] = true
		if has[ref.UUID] != ref.Sequence() {
			c.link(c.live.rule(c.names, c.want[ref.UUID], d, s, true), have, ref, c.want[ref.UUID], true)
		}
	}
	for i := range have.FirewallRuleRefs {
		if ref := &have.FirewallRuleRefs[i]; !wants[ref.UUID] {
			c.link(c.live.rule(c.names, c.have[ref.UUID], d, s, false), have, ref, c.have[ref.UUID], false)
		}
	}
	return nil
}

func (c *comparison) link(p phase, policy *tungsten.Object, ref *tungsten.Ref, rule *tungsten.Object, add bool) {
	name, origin := ref.UUID, ""
	if rule != nil {
		name, origin = rule.Name(), originOf(rule)
	}
	l := tungsten.Link{From: policy.Kind, UUID: policy.UUID, To: tungsten.KindFirewallRule, Target: ref.UUID}
	if add {
		l.Sequence = ref.Sequence()
	}
	c.ops = append(c.ops, linkOf(p, policy, l, name, origin, add))
}

// order replaces the rules of an ordered stage. If other writes surround it, a list goes first that is at least as strict as both.
func (c *comparison) order(have, want *tungsten.Object, d intent.Direction) error {
	only := func(refs []tungsten.Ref) *tungsten.Object {
		return &tungsten.Object{
			Kind: want.Kind, UUID: want.UUID, FQName: want.FQName, Annotations: want.Annotations, FirewallRuleRefs: refs,
		}
	}
	final, differs, err := updateOf(replaceOrder, only(have.FirewallRuleRefs), only(want.FirewallRuleRefs))
	if err != nil || !differs {
		return err
	}
	c.live.orders++
	c.live.opens[d], c.live.closes[d] = true, true
	tight, differs, err := updateOf(tightenOrder, only(have.FirewallRuleRefs), only(c.stricter(have, want)))
	if differs {
		c.ops = append(c.ops, tight)
	}
	c.ops = append(c.ops, final)
	return err
}

// stricter returns all rules of either list that deny, then those of both that allow. Whatever it allows or leaves undecided, both
// lists do not deny.
func (c *comparison) stricter(have, want *tungsten.Object) []tungsten.Ref {
	in := map[string]bool{}
	var denying, allowing []tungsten.Ref
	for _, ref := range have.FirewallRuleRefs {
		in[ref.UUID] = true
	}
	wants := map[string]bool{}
	for _, ref := range want.FirewallRuleRefs {
		wants[ref.UUID] = true
		switch {
		case !passes(c.want[ref.UUID]):
			denying = append(denying, ref)
		case in[ref.UUID]:
			allowing = append(allowing, ref)
		}
	}
	for _, ref := range have.FirewallRuleRefs {
		if rule := c.have[ref.UUID]; !wants[ref.UUID] && rule != nil && !passes(rule) {
			denying = append(denying, ref)
		}
	}
	out := slices.Concat(denying, allowing)
	for i := range out {
		out[i] = out[i].InSequence(place(i))
	}
	return out
}

// group compares an address group. If it gains and loses prefixes, it does so in two steps.
func (c *comparison) group(have, want *tungsten.Object) error {
	gained, lost := prefixesOf(want), prefixesOf(have)
	both := slices.Clone(gained)
	both = slices.DeleteFunc(both, func(s tungsten.Subnet) bool { return !slices.Contains(lost, s) })
	grows, shrinks := len(both) < len(gained), len(both) < len(lost)
	if !grows && !shrinks {
		return c.update(createGroup, have, want)
	}
	with := func(s []tungsten.Subnet) *tungsten.Object {
		o := *want
		o.AddressGroupPrefix = &tungsten.Subnets{Subnet: s}
		return &o
	}
	either := append(slices.Clone(gained), slices.DeleteFunc(slices.Clone(lost), func(s tungsten.Subnet) bool { return slices.Contains(both, s) })...)
	if want.Name() == c.names.allVIPs() {
		if err := c.update(growVIPs, have, with(either)); err != nil {
			return err
		}
		return c.update(shrinkVIPs, with(either), want)
	}
	add, remove := addAllow, removeAllow
	if role(strings.SplitN(strings.TrimPrefix(want.Name(), c.names.prefix()), ".", 2)[0]).denies() {
		add, remove = addDeny, removeDeny
	}
	c.live.group(add == addDeny, grows, shrinks)
	if !grows || !shrinks {
		if grows {
			return c.update(add, have, want)
		}
		return c.update(remove, have, want)
	}
	c.live.regroup = append(c.live.regroup, regroup{
		deny: add == addDeny, have: have, want: want, fewest: with(both),
		most: with(either),
	})
	return nil
}

// regroups adds the grow and shrink steps of each group, in phase order.
func (c *comparison) regroups(opening bool) error {
	for _, g := range c.live.regroup {
		grow, shrink := addAllow, removeAllow
		if g.deny {
			grow, shrink = addDeny, removeDeny
		}
		first, second, between := grow, shrink, g.most
		if !opening && !g.deny {
			first, second, between = shrink, grow, g.fewest
		}
		if err := c.update(first, g.have, between); err != nil {
			return err
		}
		if err := c.update(second, between, g.want); err != nil {
			return err
		}
	}
	return nil
}

func prefixesOf(o *tungsten.Object) []tungsten.Subnet {
	if o.AddressGroupPrefix == nil {
		return nil
	}
	return o.AddressGroupPrefix.Subnet
}

// interfaces compares the tags of interfaces with what their endpoints should have.
func (c *comparison) interfaces(all []*port, tags wanted) {
	for _, p := range all {
		want := tags[p.key]
		for _, id := range want {
			if !p.tags[id] {
				c.move(p, id, true)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(p.tags)) {
			if _, stays := slices.BinarySearch(want, id); !stays {
				c.move(p, id, false)
			}
		}
	}
}

// move adds the op for a tag that an interface gains or loses.
func (c *comparison) move(p *port, id string, gain bool) {
	c.moves = append(c.moves, move{p, id, gain})
	tag := c.want[id]
	if tag == nil {
		tag = c.have[id]
	}
	name := id
	if tag != nil {
		name = tag.Name()
	}
	ph := c.phaseOf(p, name, id, gain)
	from := &tungsten.Object{Kind: tungsten.KindInterface, UUID: p.uuid, FQName: []string{p.name}}
	l := tungsten.Link{From: tungsten.KindInterface, UUID: p.uuid, To: tungsten.KindTag, Target: id}
	c.ops = append(c.ops, linkOf(ph, from, l, name, p.key.String(), gain))
}

// covering is the phase in which a policy set begins or ceases to apply to an interface.
func covering(egress, gain bool) phase {
	switch {
	case egress && gain:
		return addEgress
	case egress:
		return removeEgress
	case gain:
		return addCover
	default:
		return removeCover
	}
}

func (c *comparison) phaseOf(p *port, name, id string, gain bool) phase {
	switch {
	case c.names.isCoverTag(name):
		c.live.cover(c.names, name, gain)
		return covering(name == c.names.coverTag(intent.Egress), gain)
	case gain && !c.haveUsage.has(id):
		return addUnused
	case !gain && !c.wantUsage.has(id):
		return removeUnused
	}
	c.live.tag(c.names, c.usages(), p, name, id, gain)
	switch deny := c.names.isDenyTag(name); {
	case deny && gain:
		return addDeny
	case deny:
		return removeDeny
	case gain:
		return addAllow
	default:
		return removeAllow
	}
}
