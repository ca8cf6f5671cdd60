package sets

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// Spec is the content of a set: endpoints that any term selects, prefixes, and the addresses of DNS names. The zero spec is empty.
type Spec struct {
	Terms    []labelcache.Term
	Prefixes []netip.Prefix // canonical
	Hosts    []string       // DNS names, whose addresses count as prefixes
	Within   []netip.Prefix // canonical; narrows the terms
	// Contested counts addresses that several pods have, too: for peers that are denied. Otherwise such an address counts for no peer.
	Contested bool
	shared    string       // the title of a set that has the subjects of several objects, which are not in Terms
	local     bool         // only endpoints on the translator's own node: for subjects, if it has an own node
	name      intent.SetID // the result of id, in which case the terms are canonical; "" until named
}

// Empty reports whether s can never have a member.
func (s Spec) Empty() bool { return len(s.Terms)+len(s.Prefixes)+len(s.Hosts) == 0 }

// Named returns s in canonical form with its ID computed, for a spec that is retained many times.
func (s Spec) Named() Spec {
	s = s.canonical()
	s.name = s.id()
	return s
}

// ID returns the ID of the set of a spec.
func (s Spec) ID() intent.SetID { return s.canonical().id() }

// Union returns what any of several specs has, named. None of them may narrow its terms.
func Union(list []Spec) Spec {
	if len(list) == 1 {
		return list[0]
	}
	var all Spec
	for i := range list {
		all.Terms = append(all.Terms, list[i].Terms...)
		all.Prefixes = append(all.Prefixes, list[i].Prefixes...)
		all.Hosts = append(all.Hosts, list[i].Hosts...)
	}
	all.Prefixes = intent.MergePrefixes(all.Prefixes)
	return all.Named()
}

// canonical sorts the terms and the names, and drops repeated ones.
func (s Spec) canonical() Spec {
	if s.name != "" {
		return s
	}
	terms := slices.Clone(s.Terms)
	slices.SortFunc(terms, func(a, b labelcache.Term) int { return strings.Compare(a.ID(), b.ID()) })
	s.Terms = slices.CompactFunc(terms, func(a, b labelcache.Term) bool { return a.ID() == b.ID() })
	hosts := slices.Clone(s.Hosts)
	slices.Sort(hosts)
	s.Hosts = slices.Compact(hosts)
	return s
}

// id returns equal IDs for specs that mean the same, whatever their source. It does not depend on which node is the own one.
func (s Spec) id() intent.SetID {
	if s.name != "" {
		return s.name
	}
	h := sha256.New()
	for _, t := range s.Terms {
		h.Write([]byte(t.ID()))
		h.Write([]byte{0})
	}
	var text []byte
	for _, list := range [][]netip.Prefix{s.Prefixes, s.Within} {
		h.Write([]byte{1})
		for _, p := range list {
			text = append(p.AppendTo(text[:0]), 0)
			h.Write(text)
		}
	}
	if len(s.Hosts) > 0 {
		h.Write([]byte{2})
	}
	if s.Contested {
		h.Write([]byte{3})
	}
	for _, name := range s.Hosts {
		h.Write([]byte(name))
		h.Write([]byte{0})
	}
	kind := "set/"
	if s.local {
		kind = "local/"
	}
	return intent.SetID(kind + hex.EncodeToString(h.Sum(nil)[:16]))
}

// onThisNode is part of the titles of sets of subjects if there is an own node. They do not name the node, so that rows
// are the same on every node.
const onThisNode = "on this node"

// shownParts is how many selectors or prefixes of a set its title names.
const shownParts = 4

// Title returns the display name of the set.
func (s Spec) Title() string {
	parts := make([]string, 0, 1)
	if s.shared != "" {
		parts = append(parts, s.shared)
	}
	if len(s.Terms) > 0 {
		parts = append(parts, joinSome(s.Terms, labelcache.Term.String))
	}
	if s.local {
		parts = append(parts, onThisNode)
	}
	if len(s.Within) > 0 {
		parts = append(parts, "within "+joinSome(s.Within, netip.Prefix.String))
	}
	if len(s.Prefixes) > 0 {
		parts = append(parts, joinSome(s.Prefixes, netip.Prefix.String))
	}
	if len(s.Hosts) > 0 {
		parts = append(parts, joinSome(s.Hosts, func(name string) string { return name }))
	}
	return strings.Join(parts, ", ")
}

// joinSome formats the first few of a list.
func joinSome[T any](list []T, format func(T) string) string {
	var parts []string
	for _, v := range list[:min(len(list), shownParts)] {
		parts = append(parts, format(v))
	}
	if more := len(list) - shownParts; more > 0 {
		parts = append(parts, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(parts, ", ")
}
