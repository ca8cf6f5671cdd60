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

// Spec is what a set means: endpoints that any term selects, and prefixes. The zero spec is nobody.
type Spec struct {
	Terms    []labelcache.Term
	Prefixes []netip.Prefix // canonical
	Within   []netip.Prefix // canonical; narrows the terms
	local    bool           // of the terms only endpoints on the translator's own node: subjects, where it has one
	name     intent.SetID   // the result of id, and the terms are canonical; "" until named
}

// Empty reports whether s is nobody.
func (s Spec) Empty() bool { return len(s.Terms) == 0 && len(s.Prefixes) == 0 }

// Named returns s in canonical form with its ID at hand, for a spec that is retained many times.
func (s Spec) Named() Spec {
	s = s.canonical()
	s.name = s.id()
	return s
}

// canonical sorts the terms and drops repeated ones.
func (s Spec) canonical() Spec {
	if s.name != "" {
		return s
	}
	terms := slices.Clone(s.Terms)
	slices.SortFunc(terms, func(a, b labelcache.Term) int { return strings.Compare(a.ID(), b.ID()) })
	s.Terms = slices.CompactFunc(terms, func(a, b labelcache.Term) bool { return a.ID() == b.ID() })
	return s
}

// id returns equal for specs that mean the same, whoever wrote them. It does not say which node is the own one.
func (s Spec) id() intent.SetID {
	if s.name != "" {
		return s.name
	}
	h := sha256.New()
	for _, t := range s.Terms {
		h.Write([]byte(t.ID()))
		h.Write([]byte{0})
	}
	for _, list := range [][]netip.Prefix{s.Prefixes, s.Within} {
		h.Write([]byte{1})
		for _, p := range list {
			h.Write([]byte(p.String()))
			h.Write([]byte{0})
		}
	}
	kind := "set/"
	if s.local {
		kind = "local/"
	}
	return intent.SetID(kind + hex.EncodeToString(h.Sum(nil)[:16]))
}

// onThisNode is what titles say of sets of subjects where there is an own node. They do not name it: rows are the same on
// every node.
const onThisNode = "on this node"

// shownParts is how many selectors or prefixes of a set its title names.
const shownParts = 4

// title returns what a person would call the set.
func (s Spec) title() string {
	var parts []string
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
	return strings.Join(parts, ", ")
}

// joinSome formats the first few of a list.
func joinSome[T any](list []T, spell func(T) string) string {
	var parts []string
	for _, v := range list[:min(len(list), shownParts)] {
		parts = append(parts, spell(v))
	}
	if more := len(list) - shownParts; more > 0 {
		parts = append(parts, fmt.Sprintf("… (%d more)", more))
	}
	return strings.Join(parts, ", ")
}
