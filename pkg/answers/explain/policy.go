package explain

import (
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/precedence"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Policy is the effect of a NetworkPolicy or a cluster-wide policy.
type Policy struct {
	Kind string `json:"kind,omitempty"` // of a cluster-wide policy, as in manifests
	Name string `json:"name"`           // [cluster/]namespace/name, or the name of a cluster-wide policy
	// Tier is admin or baseline, and Priority the order in it, for a cluster-wide policy. A BaselineAdminNetworkPolicy has none.
	Tier       string      `json:"tier,omitempty"`
	Priority   *uint16     `json:"priority,omitempty"`
	Directions []Direction `json:"directions"` // those that it isolates or has rules for
	// Staged means that the policy neither denies nor allows anything: everything else is what it would do. Replaces is the policy that it
	// is then to replace; "" for none.
	Staged   bool   `json:"staged,omitempty"`
	Replaces string `json:"replaces,omitempty"`
	// Findings are rules that have no effect because others decide before them, contradictions to policies of the same priority, and named
	// ports that no pod declares.
	Findings []string         `json:"findings,omitempty"`
	Problems []object.Problem `json:"problems,omitempty"`
}

// Direction is the effect of a policy in one direction.
type Direction struct {
	Direction string           `json:"direction"`
	Subject   Members          `json:"subject"` // the pods that it isolates, or that it applies to
	Rules     []PolicyRule     `json:"rules,omitempty"`
	Log       *intents.Logging `json:"log,omitempty"`
}

// PolicyRule is a rule of a policy. A rule of the manifest becomes several if a named port has several numbers, and none if it
// matches nothing.
type PolicyRule struct {
	Path   string   `json:"path"` // such as spec.ingress[0]
	Name   string   `json:"name,omitempty"`
	Action string   `json:"action"` // allow, deny or pass
	Ports  []string `json:"ports"`
	Peers  Members  `json:"peers"`
	// Subject lists the pods it applies to, if that is not every pod that the policy selects.
	Subject *Members `json:"subject,omitempty"`
}

func explainPolicy(w *world.World, of object.Ref) *Policy {
	out := &Policy{
		Name: w.Prefix() + of.NamespacedName(), Directions: []Direction{}, Problems: w.ProblemsOf(of.Kind, of.NamespacedName()),
	}
	if of.Kind != object.KindNetworkPolicy {
		out.Kind = of.Kind
	}
	if staged, ok := w.State.StagedAs(of); ok {
		out.Staged = true
		if staged.Replaces != (object.Ref{}) {
			out.Replaces = staged.Replaces.Path()
		}
		if would := w.WouldBe(); would != nil {
			w = would
			out.Problems = w.ProblemsOf(of.Kind, of.NamespacedName())
		}
	}
	s := w.State.Snapshot
	for p := range s.Policies() {
		if p.Origin.Ref() != of {
			continue
		}
		d := Direction{Direction: p.Direction.String(), Subject: membersOf(s.Set(p.Subject), w.NameOf)}
		out.Tier, out.Priority = tierOf(p)
		d.Log = intents.LoggingOf(p)
		for i := range p.Rules {
			d.Rules = append(d.Rules, policyRule(w, &p.Rules[i]))
		}
		out.Directions = append(out.Directions, d)
	}
	out.Findings = Findings(w, of)
	return out
}

// Findings describes the rules of a policy that have no effect because others decide before them, its contradictions to policies of the same
// priority, and named ports that no pod declares.
func Findings(w *world.World, of object.Ref) []string {
	report := precedence.Of(w.State.Snapshot, of, precedence.Budget)
	out := report.Messages(w.State.Snapshot)
	for p := range w.State.Snapshot.Policies() {
		if p.Origin.Ref() != of {
			continue
		}
		for _, u := range p.UndeclaredIn(w.State.Snapshot) {
			out = append(out, u.Field+": "+u.String())
		}
	}
	return out
}

// tierOf returns the tier of a cluster-wide policy and its priority; none for other policies. A BaselineAdminNetworkPolicy has no
// priority of its own, and neither has a network.
func tierOf(p *intent.Policy) (string, *uint16) {
	switch {
	case !p.Tier.Ordered():
		return "", nil
	case p.Origin.Kind == object.KindBaselineAdminNetworkPolicy || object.IsNetwork(p.Origin.Kind):
		return p.Tier.String(), nil
	default:
		priority := p.Priority
		return p.Tier.String(), &priority
	}
}

func policyRule(w *world.World, r *intent.Rule) PolicyRule {
	s := w.State.Snapshot
	out := PolicyRule{
		Path: r.Path, Name: r.Name, Action: r.Action.String(), Ports: r.Ports.Strings(), Peers: Members{Title: "any"},
	}
	switch r.Peer.Kind {
	case intent.PeerAny:
	case intent.PeerSet:
		out.Peers = membersOf(s.Set(r.Peer.Set), w.NameOf)
	case intent.PeerNone:
		out.Peers.Title = "none"
	}
	if r.Subject != "" {
		subject := membersOf(s.Set(r.Subject), w.NameOf)
		out.Subject = &subject
	}
	return out
}
