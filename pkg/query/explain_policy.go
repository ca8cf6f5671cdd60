package query

import (
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// PolicyExplanation is the effect of a NetworkPolicy.
type PolicyExplanation struct {
	Name       string            `json:"name"`       // namespace/name
	Directions []PolicyDirection `json:"directions"` // those that it isolates
	Problems   []object.Problem  `json:"problems,omitempty"`
}

// PolicyDirection is the effect of a policy in one direction.
type PolicyDirection struct {
	Direction string         `json:"direction"`
	Subject   Members        `json:"subject"` // the pods that it isolates
	Rules     []PolicyRule   `json:"rules,omitempty"`
	Log       *LoggingIntent `json:"log,omitempty"`
}

// PolicyRule is one thing that a policy allows. A rule of the manifest becomes several if a named port has several
// numbers, and none if it selects nothing.
type PolicyRule struct {
	Path  string   `json:"path"` // such as spec.ingress[0]
	Ports []string `json:"ports"`
	Peers Members  `json:"peers"`
	// Subject lists the pods it applies to, if that is not every pod that the policy selects.
	Subject *Members `json:"subject,omitempty"`
}

func (inv *Inventory) explainPolicy(name string) *PolicyExplanation {
	out := &PolicyExplanation{Name: name, Directions: []PolicyDirection{}, Problems: inv.problemsOf(object.KindNetworkPolicy, name)}
	s := inv.state.Snapshot
	for p := range s.Policies() {
		if p.Origin.Kind != object.KindNetworkPolicy || p.Origin.Namespace+"/"+p.Origin.Name != name {
			continue
		}
		d := PolicyDirection{Direction: p.Direction.String(), Subject: membersOf(s.Set(p.Subject))}
		d.Log = policyIntent(p).Log
		for i := range p.Rules {
			d.Rules = append(d.Rules, policyRule(s, &p.Rules[i]))
		}
		out.Directions = append(out.Directions, d)
	}
	return out
}

func policyRule(s *intent.Snapshot, r *intent.Rule) PolicyRule {
	out := PolicyRule{Path: r.Path, Ports: r.Ports.Strings(), Peers: Members{Title: "any"}}
	if r.Peer.Kind != intent.PeerAny {
		out.Peers = membersOf(s.Set(r.Peer.Set))
	}
	if r.Subject != "" {
		subject := membersOf(s.Set(r.Subject))
		out.Subject = &subject
	}
	return out
}
