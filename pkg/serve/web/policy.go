package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

const (
	maxPolicies = 200 // lines of a list
	maxMembers  = 100 // of a set
	maxPrefixes = 50
	maxRules    = 200 // of a policy in a direction
)

// PolicyLine is a policy in a list.
type PolicyLine struct {
	Kind       string   `json:"kind,omitempty"` // of a cluster-wide policy, such as ClusterNetworkPolicy
	Namespace  string   `json:"namespace"`      // "" for a cluster-wide policy
	Name       string   `json:"name"`
	Tier       string   `json:"tier,omitempty"`       // of a cluster-wide policy: admin or baseline
	Priority   *uint16  `json:"priority,omitempty"`   // within the tier
	Directions []string `json:"directions,omitempty"` // those it isolates in or, if it is cluster-wide, has rules for
	Pods       int      `json:"pods"`                 // that it selects
	Rules      int      `json:"rules"`
	Problems   int      `json:"problems,omitempty"`
	// Staged means that it neither denies nor allows anything: it has no directions and rules.
	Staged bool `json:"staged,omitempty"`
}

// PolicyPage is the details of a policy, as far as they do not depend on targets.
type PolicyPage struct {
	Revision intent.Revision  `json:"revision"`
	Object   string           `json:"object"`           // such as NetworkPolicy/shop/db
	Staged   string           `json:"staged,omitempty"` // that it is staged, and what it is to replace; "" if it is enforced
	Intents  []PolicyIntent   `json:"intents"`
	Sets     []Set            `json:"sets"`               // those in the intents, by ID
	Findings []string         `json:"findings,omitempty"` // rules without effect, and contradictions to other policies
	Problems []object.Problem `json:"problems"`
}

// PolicyIntent is a policy in one direction.
type PolicyIntent struct {
	ID        string       `json:"id"`
	Direction string       `json:"direction"`
	Tier      string       `json:"tier,omitempty"`     // of a cluster-wide policy: admin or baseline
	Priority  *uint16      `json:"priority,omitempty"` // within the tier
	Subject   string       `json:"subject"`            // ID of a set
	Isolates  bool         `json:"isolates"`
	Written   int          `json:"written"` // rules in the manifest
	Rules     []PolicyRule `json:"rules"`   // what they were translated to
	MoreRules int          `json:"moreRules,omitempty"`
	LogAllow  string       `json:"logAllow,omitempty"` // severity of audit lines
	LogDeny   string       `json:"logDeny,omitempty"`
}

// PolicyRule is a rule of a policy.
type PolicyRule struct {
	Path    string   `json:"path"` // such as spec.ingress[0]
	Name    string   `json:"name,omitempty"`
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
		name := list[i].ref().NamespacedName()
		if (q.Get("namespace") == "" || q.Get("namespace") == list[i].Namespace) && strings.Contains(strings.ToLower(name), text) {
			found = append(found, list[i])
		}
	}
	shown, more := cut(found, maxPolicies)
	return map[string]any{"policies": shown, "morePolicies": more, "revision": b.state.Snapshot.Revision()}, nil
}

// ref names the policy.
func (l *PolicyLine) ref() object.Ref {
	return object.Ref{Kind: cmp.Or(l.Kind, object.KindNetworkPolicy), Namespace: l.Namespace, Name: l.Name}
}

// listPolicies lists all policies, including those without intents: cluster-wide ones in the order of evaluation, then
// NetworkPolicies by name.
func (b *board) listPolicies() []PolicyLine {
	lines := map[object.Ref]*PolicyLine{}
	line := func(ref object.Ref) *PolicyLine {
		if lines[ref] == nil {
			lines[ref] = &PolicyLine{Namespace: ref.Namespace, Name: ref.Name}
			if ref.Kind != object.KindNetworkPolicy {
				lines[ref].Kind = ref.Kind
			}
		}
		return lines[ref]
	}
	for _, p := range b.state.Objects.Policies {
		line(object.Ref{Kind: object.KindNetworkPolicy, Namespace: p.Namespace, Name: p.Name})
	}
	for _, ref := range b.state.Objects.Cluster {
		line(ref)
	}
	s := b.state.Snapshot
	for p := range s.Policies() {
		if p.Origin.Kind != object.KindNetworkPolicy && !p.Tier.Ordered() {
			continue
		}
		l := line(p.Origin.Ref())
		l.Tier, l.Priority = placeOf(p)
		l.Directions = append(l.Directions, p.Direction.String())
		l.Pods = max(l.Pods, s.Set(p.Subject).Len())
		l.Rules += rulesOf(p)
	}
	for _, staged := range b.promotion().Staged {
		if l := lines[staged.Policy]; l != nil {
			l.Staged = true
		}
	}
	for _, p := range b.state.Problems {
		if l := lines[p.Ref]; l != nil {
			l.Problems++
		}
	}
	out := make([]PolicyLine, 0, len(lines))
	for _, l := range lines {
		slices.Sort(l.Directions)
		out = append(out, *l)
	}
	slices.SortFunc(out, comparePolicies)
	return out
}

// rulesOf counts the rules of a policy as its manifest has them: one may be translated to several.
func rulesOf(p *intent.Policy) int {
	paths := map[string]bool{}
	for i := range p.Rules {
		paths[p.Rules[i].Path] = true
	}
	return len(paths)
}

// comparePolicies orders cluster-wide policies by tier and precedence, before NetworkPolicies.
func comparePolicies(a, b PolicyLine) int {
	if (a.Kind == "") != (b.Kind == "") {
		return cmp.Compare(b.Kind, a.Kind)
	}
	priority := func(l *PolicyLine) uint16 {
		if l.Priority == nil {
			return 0
		}
		return *l.Priority
	}
	return cmp.Or(
		cmp.Compare(a.Tier, b.Tier), cmp.Compare(priority(&a), priority(&b)), cmp.Compare(a.ref().NamespacedName(), b.ref().NamespacedName()),
		cmp.Compare(a.Kind, b.Kind),
	)
}

// placeOf returns the tier and priority of a cluster-wide policy; none for others.
func placeOf(p *intent.Policy) (string, *uint16) {
	if !p.Tier.Ordered() {
		return "", nil
	}
	priority := p.Priority
	return p.Tier.String(), &priority
}

// refOf names the policy in the path of a request: of a kind if that has one, else a NetworkPolicy.
func refOf(r *http.Request) object.Ref {
	return object.Ref{
		Kind: cmp.Or(r.PathValue("kind"), object.KindNetworkPolicy), Namespace: r.PathValue("namespace"), Name: r.PathValue("name"),
	}
}

func (h *Handler) policy(r *http.Request, b *board) (any, error) {
	ref := refOf(r)
	page := &PolicyPage{
		Revision: b.state.Snapshot.Revision(), Object: ref.Path(),
		Intents: []PolicyIntent{}, Sets: []Set{}, Problems: []object.Problem{},
	}
	if !slices.ContainsFunc(b.policyList(), func(l PolicyLine) bool { return l.ref() == ref }) {
		return nil, fmt.Errorf("%s: %w", page.Object, name.ErrNotFound)
	}
	if staged, ok := b.inventory().State.StagedAs(ref); ok {
		page.Staged = staged.Text()
	}
	page.Findings = explain.Findings(b.inventory(), ref)
	used := map[string]intent.SetID{}
	for p := range b.state.Snapshot.Policies() {
		if p.Origin.Ref() == ref {
			page.Intents = append(page.Intents, policyIntent(p, used))
		}
	}
	for _, id := range sortedKeys(used) {
		page.Sets = append(page.Sets, setOf(&b.state.State, used[id]))
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
		LogAllow: p.Log.Allow.String(), LogDeny: p.Log.Deny.String(), Rules: []PolicyRule{}, Written: rulesOf(p),
	}
	out.Tier, out.Priority = placeOf(p)
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
			Path: r.Path, Name: r.Name, Action: r.Action.String(), Subject: note(r.Subject), Peer: peer, Ports: r.Ports.Strings(),
		})
	}
	return out
}

// setOf converts a set for display.
func setOf(s *world.State, id intent.SetID) Set {
	out := Set{ID: string(id), Title: string(id)}
	set := s.Snapshot.Set(id)
	if set == nil {
		return out
	}
	switch {
	case set.Members == nil && len(set.Hosts) == 0 && len(set.Prefixes) > 0:
		out.Title = intent.PrefixText(set.Prefixes)
	case set.Title != "":
		out.Title = set.Title
	}
	if set.Members != nil {
		var members []string
		for e := range set.Members.All() {
			members = append(members, world.NameIn(s.Cluster, e.Key))
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
