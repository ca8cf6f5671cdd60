package vrouter

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// Network is the part of a configuration that decides on packets. It is immutable.
type Network struct {
	interfaces map[string]*port
	byAddr     map[netip.Addr][]*port
	groups     map[string]*group // by fully qualified name
	tagIDs     map[string]int64  // by fully qualified name
	vips       map[netip.Addr]*vip
}

// port is an interface of a virtual machine.
type port struct {
	uuid     string
	networks []string // UUIDs
	addrs    []netip.Addr
	tags     []int64 // sorted
	// lists are the rules in the order of evaluation: those of application policy sets, then those of the type neutron_fwaas.
	lists    [2][]*rule
	disabled bool // no policy applies to it
	// others are the same interface for an agent that keeps other tags of it, see kept. They have neither networks nor addresses.
	others []*port
}

// variants are what an agent may know of an interface; nil alone for one that is not known.
func (p *port) variants() []*port {
	if p == nil {
		return []*port{nil}
	}
	return append([]*port{p}, p.others...)
}

// group is an address group.
type group struct {
	prefixes []netip.Prefix
	labels   []int64 // without ID 0
}

// The IDs of two predefined types of tags.
const (
	typeLabel = 0x0000
	typeFWaaS = 0x0005
)

func typeOf(tag int64) int64 { return tag >> 16 }

// New makes a network of all objects of a configuration.
func New(objects []*tungsten.Object) *Network {
	n := &Network{
		interfaces: map[string]*port{}, byAddr: map[netip.Addr][]*port{}, groups: map[string]*group{}, tagIDs: map[string]int64{},
		vips: map[netip.Addr]*vip{},
	}
	c := &config{network: n, byUUID: map[string]*tungsten.Object{}, rules: map[string]*rule{}, policies: map[string][]*rule{}}
	for _, o := range objects {
		c.byUUID[o.UUID] = o
		if id, err := strconv.ParseInt(o.TagID, 0, 64); err == nil && o.Kind == tungsten.KindTag {
			n.tagIDs[strings.Join(o.FQName, ":")] = id
		}
	}
	for _, o := range objects {
		if o.Kind == tungsten.KindAddressGroup {
			n.groups[strings.Join(o.FQName, ":")] = c.group(o)
		}
		if o.Kind == tungsten.KindApplicationPolicySet {
			c.sets = append(c.sets, o)
		}
	}
	slices.SortFunc(c.sets, func(a, b *tungsten.Object) int { return strings.Compare(a.UUID, b.UUID) })
	for _, o := range objects {
		if o.Kind == tungsten.KindInterface {
			n.interfaces[o.UUID] = c.port(o)
		}
	}
	for _, o := range objects {
		if addr, err := netip.ParseAddr(o.InstanceIPAddress); err == nil && o.Kind == tungsten.KindInstanceIP {
			for _, ref := range o.InterfaceRefs {
				if p := n.interfaces[ref.UUID]; p != nil {
					n.byAddr[addr], p.addrs = append(n.byAddr[addr], p), append(p.addrs, addr)
				}
			}
		}
	}
	c.readVIPs(objects)
	return n
}

// config is a configuration being read.
type config struct {
	network  *Network
	byUUID   map[string]*tungsten.Object
	sets     []*tungsten.Object
	rules    map[string]*rule   // by UUID
	policies map[string][]*rule // by UUID, in order
	lists    map[string][]*rule // by what they consist of
}

func (c *config) group(o *tungsten.Object) *group {
	g := &group{}
	if o.AddressGroupPrefix != nil {
		for _, s := range o.AddressGroupPrefix.Subnet {
			if p, err := s.Prefix(); err == nil {
				g.prefixes = append(g.prefixes, p)
			}
		}
	}
	for _, id := range c.tagsOf(o) {
		if id != 0 {
			g.labels = append(g.labels, id)
		}
	}
	return g
}

// tagsOf lists the IDs of the tags that an object itself has.
func (c *config) tagsOf(o *tungsten.Object) []int64 {
	var out []int64
	for _, ref := range o.TagRefs {
		if tag := c.byUUID[ref.UUID]; tag != nil {
			if id, known := c.network.tagIDs[strings.Join(tag.FQName, ":")]; known {
				out = append(out, id)
			}
		}
	}
	return out
}

// inherited lists the tags of an interface: its own, and those of its machine, network and project of types that nothing nearer
// has.
func (c *config) inherited(o *tungsten.Object) []int64 {
	levels := [][]int64{c.tagsOf(o)}
	for _, refs := range [][]tungsten.Ref{o.VirtualMachineRefs, o.VirtualNetworkRefs} {
		var level []int64
		for _, ref := range refs {
			if outer := c.byUUID[ref.UUID]; outer != nil {
				level = append(level, c.tagsOf(outer)...)
			}
		}
		levels = append(levels, level)
	}
	if project := c.byUUID[o.ParentUUID]; project != nil && project.Kind == tungsten.KindProject {
		levels = append(levels, c.tagsOf(project))
	}
	var out []int64
	for _, level := range levels {
		nearer := slices.Clone(out)
		for _, id := range level {
			if !slices.ContainsFunc(nearer, func(n int64) bool { return typeOf(n) == typeOf(id) }) {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxKept limits what kept returns.
const maxKept = 64

// kept lists which of an interface's tags an agent may keep, each sorted: all labels, and of every other type one. Which one depends on
// the order in which it learns of them.
func kept(tags []int64) [][]int64 {
	single := true
	for i := 1; i < len(tags); i++ {
		single = single && (typeOf(tags[i]) == typeLabel || typeOf(tags[i]) != typeOf(tags[i-1]))
	}
	if single {
		return [][]int64{tags}
	}
	byType := map[int64][]int64{}
	for _, id := range tags {
		byType[typeOf(id)] = append(byType[typeOf(id)], id)
	}
	out := [][]int64{byType[typeLabel]}
	for _, t := range slices.Sorted(maps.Keys(byType)) {
		if t == typeLabel {
			continue
		}
		var next [][]int64
		for _, id := range byType[t] {
			for _, others := range out {
				if len(next) < maxKept {
					next = append(next, append(slices.Clone(others), id))
				}
			}
		}
		out = next
	}
	return out
}

func (c *config) port(o *tungsten.Object) *port {
	var out *port
	for _, tags := range kept(c.inherited(o)) {
		p := &port{uuid: o.UUID, tags: tags, disabled: o.DisablePolicy}
		c.findLists(p)
		if out == nil {
			out = p
		} else {
			out.others = append(out.others, p)
		}
	}
	for _, ref := range o.VirtualNetworkRefs {
		out.networks = append(out.networks, ref.UUID)
	}
	return out
}

// findLists finds the rules that apply to an interface with its tags.
func (c *config) findLists(p *port) {
	var sets [2][]*tungsten.Object
	for _, set := range c.sets {
		if set.AllApplications {
			sets[0] = append(sets[0], set)
		}
	}
	for _, id := range p.tags {
		which := 0
		if typeOf(id) == typeFWaaS {
			which = 1
		}
		for _, set := range c.sets {
			if !set.AllApplications && slices.Contains(c.tagsOf(set), id) && !slices.Contains(sets[which], set) {
				sets[which] = append(sets[which], set)
			}
		}
	}
	for i := range sets {
		p.lists[i] = c.list(sets[i])
	}
}

// list returns the rules of sets in the order of evaluation. Interfaces with the same sets share a list.
func (c *config) list(sets []*tungsten.Object) []*rule {
	var key strings.Builder
	for _, set := range sets {
		key.WriteString(set.UUID + "\x00")
	}
	if l, known := c.lists[key.String()]; known {
		return l
	}
	var out []*rule
	some := false
	for _, set := range sets {
		for _, policy := range inSequence(set.FirewallPolicyRefs) {
			if c.byUUID[policy.UUID] != nil {
				some = true
				out = append(out, c.policy(policy.UUID)...)
			}
		}
	}
	if some && out == nil {
		out = []*rule{}
	}
	if c.lists == nil {
		c.lists = map[string][]*rule{}
	}
	c.lists[key.String()] = out
	return out
}

func (c *config) policy(uuid string) []*rule {
	if list, known := c.policies[uuid]; known {
		return list
	}
	var out []*rule
	for _, ref := range inSequence(c.byUUID[uuid].FirewallRuleRefs) {
		if o := c.byUUID[ref.UUID]; o != nil {
			if c.rules[ref.UUID] == nil {
				c.rules[ref.UUID] = c.rule(o)
			}
			out = append(out, c.rules[ref.UUID])
		}
	}
	c.policies[uuid] = out
	return out
}

// inSequence orders references as text. Those without a sequence are skipped, and of equal sequences all but the first.
func inSequence(refs []tungsten.Ref) []tungsten.Ref {
	out := slices.DeleteFunc(slices.Clone(refs), func(r tungsten.Ref) bool { return r.Sequence() == "" })
	slices.SortStableFunc(out, func(a, b tungsten.Ref) int { return strings.Compare(a.Sequence(), b.Sequence()) })
	return slices.CompactFunc(out, func(a, b tungsten.Ref) bool { return a.Sequence() == b.Sequence() })
}
