package webui

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/query"
)

const (
	maxPolicies = 200 // lines of a list
	maxMembers  = 100 // of a set
	maxPrefixes = 50
	maxRules    = 200 // of a policy in a direction
)

// PolicyLine is a policy in a list.
type PolicyLine struct {
	Namespace  string   `json:"namespace"`
	Name       string   `json:"name"`
	Directions []string `json:"directions,omitempty"` // those it isolates in
	Pods       int      `json:"pods"`                 // that it selects
	Rules      int      `json:"rules"`
	Problems   int      `json:"problems,omitempty"`
}

// PolicyPage is the details of a policy, as far as they do not depend on targets.
type PolicyPage struct {
	Revision intent.Revision  `json:"revision"`
	Object   string           `json:"object"` // such as NetworkPolicy/shop/db
	Intents  []PolicyIntent   `json:"intents"`
	Sets     []Set            `json:"sets"` // those in the intents, by ID
	Problems []object.Problem `json:"problems"`
}

// PolicyIntent is a policy in one direction.
type PolicyIntent struct {
	ID        string       `json:"id"`
	Direction string       `json:"direction"`
	Subject   string       `json:"subject"` // ID of a set
	Isolates  bool         `json:"isolates"`
	Rules     []PolicyRule `json:"rules"`
	MoreRules int          `json:"moreRules,omitempty"`
	LogAllow  string       `json:"logAllow,omitempty"` // severity of audit lines
	LogDeny   string       `json:"logDeny,omitempty"`
}

// PolicyRule is one thing that a policy allows.
type PolicyRule struct {
	Path    string   `json:"path"` // such as spec.ingress[0]
	Action  string   `json:"action"`
	Subject string   `json:"subject,omitempty"` // ID of a set that narrows the policy's
	Peer    string   `json:"peer"`              // ID of a set, any or none
	Ports   []string `json:"ports"`
}

// Set is a set of members.
type Set struct {
	ID           string   `json:"id"`
	Title        string   `json:"title"`
	Count        int      `json:"count"`             // of members
	Members      []string `json:"members,omitempty"` // the first of them
	MoreMembers  int      `json:"moreMembers,omitempty"`
	Prefixes     []string `json:"prefixes,omitempty"`
	MorePrefixes int      `json:"morePrefixes,omitempty"`
	Within       []string `json:"within,omitempty"` // narrows the members' addresses
}

func (h *Handler) policies(r *http.Request, b *board) (any, error) {
	q := r.URL.Query()
	list := b.policyList()
	text := strings.ToLower(strings.TrimSpace(q.Get("q")))
	found := []PolicyLine{}
	for i := range list {
		name := list[i].Namespace + "/" + list[i].Name
		if (q.Get("namespace") == "" || q.Get("namespace") == list[i].Namespace) && strings.Contains(strings.ToLower(name), text) {
			found = append(found, list[i])
		}
	}
	shown, more := cut(found, maxPolicies)
	return map[string]any{"policies": shown, "morePolicies": more, "revision": b.state.Snapshot.Revision()}, nil
}

// listPolicies lists all policies, including those without intents, ordered by name.
func (b *board) listPolicies() []PolicyLine {
	lines := map[string]*PolicyLine{}
	line := func(namespace, name string) *PolicyLine {
		key := namespace + "/" + name
		if lines[key] == nil {
			lines[key] = &PolicyLine{Namespace: namespace, Name: name}
		}
		return lines[key]
	}
	for _, p := range b.state.Objects.Policies {
		line(p.Namespace, p.Name)
	}
	s := b.state.Snapshot
	for p := range s.Policies() {
		if p.Origin.Kind != object.KindNetworkPolicy {
			continue
		}
		l := line(p.Origin.Namespace, p.Origin.Name)
		l.Directions = append(l.Directions, p.Direction.String())
		l.Pods = max(l.Pods, s.Set(p.Subject).Len())
		l.Rules += len(p.Rules)
	}
	for _, p := range b.state.Problems {
		if l := lines[p.Ref.NamespacedName()]; l != nil && p.Ref.Kind == object.KindNetworkPolicy {
			l.Problems++
		}
	}
	out := make([]PolicyLine, 0, len(lines))
	for _, key := range sortedKeys(lines) {
		slices.Sort(lines[key].Directions)
		out = append(out, *lines[key])
	}
	return out
}

func (h *Handler) policy(r *http.Request, b *board) (any, error) {
	ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	page := &PolicyPage{
		Revision: b.state.Snapshot.Revision(), Object: ref.Path(),
		Intents: []PolicyIntent{}, Sets: []Set{}, Problems: []object.Problem{},
	}
	if !slices.ContainsFunc(b.policyList(), func(l PolicyLine) bool { return l.Namespace == ref.Namespace && l.Name == ref.Name }) {
		return nil, fmt.Errorf("%s: %w", page.Object, query.ErrNotFound)
	}
	used := map[string]intent.SetID{}
	for p := range b.state.Snapshot.Policies() {
		if p.Origin.Ref() == ref {
			page.Intents = append(page.Intents, policyIntent(p, used))
		}
	}
	for _, id := range sortedKeys(used) {
		page.Sets = append(page.Sets, setOf(b.state.Snapshot, used[id]))
	}
	for _, p := range b.state.Problems {
		if p.Ref == ref {
			page.Problems = append(page.Problems, p)
		}
	}
	return page, nil
}

// policyIntent converts p for display; it records the sets that p names.
func policyIntent(p *intent.Policy, used map[string]intent.SetID) PolicyIntent {
	note := func(id intent.SetID) string {
		if id != "" {
			used[string(id)] = id
		}
		return string(id)
	}
	out := PolicyIntent{
		ID: string(p.ID), Direction: p.Direction.String(), Subject: note(p.Subject), Isolates: p.Isolates,
		LogAllow: p.Log.Allow.String(), LogDeny: p.Log.Deny.String(), Rules: []PolicyRule{},
	}
	rules, more := cut(p.Rules, maxRules)
	out.MoreRules = more
	for i := range rules {
		r := &rules[i]
		peer := "none"
		switch r.Peer.Kind {
		case intent.PeerAny:
			peer = "any"
		case intent.PeerSet:
			peer = note(r.Peer.Set)
		case intent.PeerNone:
		}
		out.Rules = append(out.Rules, PolicyRule{
			Path: r.Path, Action: r.Action.String(), Subject: note(r.Subject), Peer: peer, Ports: r.Ports.Strings(),
		})
	}
	return out
}

// setOf converts a set for display.
func setOf(s *intent.Snapshot, id intent.SetID) Set {
	out := Set{ID: string(id), Title: string(id)}
	set := s.Set(id)
	if set == nil {
		return out
	}
	if set.Title != "" {
		out.Title = set.Title
	}
	if set.Members != nil {
		var members []string
		for e := range set.Members.All() {
			members = append(members, e.Key.Namespace+"/"+e.Key.Name)
		}
		slices.Sort(members)
		out.Count = len(members)
		out.Members, out.MoreMembers = cut(members, maxMembers)
	}
	var prefixes []string
	for _, p := range set.Prefixes {
		prefixes = append(prefixes, p.String())
	}
	out.Prefixes, out.MorePrefixes = cut(prefixes, maxPrefixes)
	for _, p := range set.Within {
		out.Within = append(out.Within, p.String())
	}
	return out
}
