package query

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
)

// Verdict is the result for a connection.
type Verdict string

// The verdicts. Deny drops the connection, Refuse answers with an error. Mixed depends on the address family, or on the
// chosen endpoint of a service. VerdictUnknown depends on policies of another cluster that are not known.
const (
	Allow  Verdict = "allow"
	Deny   Verdict = "deny"
	Refuse Verdict = "refuse"
	Mixed  Verdict = "mixed"

	VerdictUnknown Verdict = "unknown"
)

// Answer is the result for the connections from one place to another.
type Answer struct {
	Question string `json:"question"` // such as "shop/web-0 -> shop/db-0 tcp/5432"
	From     string `json:"from"`
	To       string `json:"to"`
	// FromCluster and ToCluster are the clusters of the ends, if there are several; "" for an address outside.
	FromCluster string  `json:"fromCluster,omitempty"`
	ToCluster   string  `json:"toCluster,omitempty"`
	Port        string  `json:"port"`
	Verdict     Verdict `json:"verdict"`
	// Notes list what policies see of an end, if that differs from its name.
	Notes []string `json:"notes,omitempty"`
	Flows []Flow   `json:"flows"` // one for each two addresses of one family
}

// Flow is a connection between two addresses.
type Flow struct {
	Family      string     `json:"family"` // ipv4 or ipv6
	Source      string     `json:"source"`
	Destination string     `json:"destination"` // with the port, if the protocol has ports
	Verdict     Verdict    `json:"verdict"`
	Service     *Balancing `json:"service,omitempty"` // set if a Service load-balanced it; then it has no sides
	Egress      *Side      `json:"egress,omitempty"`
	Ingress     *Side      `json:"ingress,omitempty"`
	Change      []string   `json:"change,omitempty"` // what would have to change for the opposite verdict
}

// Balancing is how a Service load-balances a connection to one of its frontends.
type Balancing struct {
	Service  string          `json:"service"`  // such as Service/shop/db
	Frontend string          `json:"frontend"` // such as tcp/10.96.0.10:5432
	Kind     string          `json:"kind"`     // cluster, nodeport, external or ingress
	Outcome  string          `json:"outcome"`  // sent on, refused, unserved or barred
	Choices  []BackendAnswer `json:"backends,omitempty"`
}

// BackendAnswer is the result for a connection that is sent on to one backend.
type BackendAnswer struct {
	Address string   `json:"address"`
	Pod     string   `json:"pod,omitempty"`
	Node    string   `json:"node,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Egress  *Side    `json:"egress,omitempty"`
	Ingress *Side    `json:"ingress,omitempty"`
	Change  []string `json:"change,omitempty"`
}

// Probe answers a question: one answer for each pair of places. It fails if the question names something that does not
// exist.
func (inv *Inventory) Probe(q Question, w Where) ([]Answer, error) {
	pairs, err := inv.pairs(q, w, false)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, 0, len(pairs))
	for i := range pairs {
		a, err := pairs[i].at.answer(&pairs[i], w)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// answer evaluates every connection of a pair.
func (inv *Inventory) answer(p *pair, w Where) (Answer, error) {
	flows, err := p.flows(w)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Question: p.String(), From: p.from.name, To: p.to.name, Port: p.port.String()}
	if inv.set.several() {
		a.FromCluster, a.ToCluster = p.from.cluster(), p.to.cluster()
	}
	for _, e := range []*end{p.from, p.to} {
		if e.note != "" {
			a.Notes = append(a.Notes, e.name+" is "+e.note)
		}
	}
	if note := inv.servicesUnknown(); note != "" && (p.to.kind == KindService || p.to.kind == kindAddress) {
		a.Notes = append(a.Notes, p.to.name+": "+note)
	}
	if !inv.judges && p.to.kind == kindAddress {
		a.Notes = append(a.Notes, fmt.Sprintf("%s: Services of cluster %s were not read: this may be the address of one", p.to.name, inv.state.Cluster))
	}
	for i := range flows {
		a.Flows = append(a.Flows, inv.judge(&flows[i], p, w.Rows))
	}
	a.Verdict = a.Flows[0].Verdict
	for i := range a.Flows {
		a.Verdict = a.Verdict.with(a.Flows[i].Verdict)
	}
	return a, nil
}

// cluster is the name of the end's cluster; "" for an address outside.
func (e *end) cluster() string {
	if e.in == nil {
		return ""
	}
	return e.in.state.Cluster
}

// with combines two verdicts.
func (v Verdict) with(o Verdict) Verdict {
	switch {
	case v == o:
		return v
	case v == VerdictUnknown || o == VerdictUnknown:
		return VerdictUnknown
	default:
		return Mixed
	}
}

// verdictOf is allow or deny.
func verdictOf(allowed bool) Verdict {
	if allowed {
		return Allow
	}
	return Deny
}

// verdictOfBalanced is the combined verdict of all choices.
func verdictOfBalanced(b *intent.Balanced, of func(choice int) Verdict) Verdict {
	if b.Outcome == intent.Refused {
		return Refuse
	}
	v := Deny
	for i := range b.Choices {
		one := of(i)
		if i == 0 {
			v = one
		}
		v = v.with(one)
	}
	return v
}

// judge evaluates the snapshot and collects the reasons. Each end is judged by the policies of its cluster.
func (inv *Inventory) judge(f *intent.Flow, p *pair, rows RowNamer) Flow {
	v := inv.state.Snapshot.Evaluate(*f)
	out := Flow{
		Family: familyOf(f.Dst.Addr), Source: inv.state.addrText(f.Src.Addr), Destination: inv.state.addrText(f.Dst.Addr) + " " + portText(f),
	}
	if v.Balanced == nil {
		c := &connection{*f, p.from.name, p.to.name, rows}
		out.Egress, out.Ingress = inv.sides(c, v.Egress, v.Ingress)
		out.Verdict = both(out.Egress.Verdict, out.Ingress.Verdict)
		out.Change = inv.change(c, out.Egress, out.Ingress)
		return out
	}
	b := v.Balanced
	out.Service = &Balancing{
		Service: b.LoadBalancer.Origin.String(), Frontend: inv.state.Shown(b.Frontend.String()), Kind: b.Frontend.Kind.String(),
		Outcome: b.Outcome.String(),
	}
	for i := range b.Choices {
		out.Service.Choices = append(out.Service.Choices, inv.choice(f, &b.Choices[i], p, rows))
	}
	out.Verdict = verdictOfBalanced(b, func(i int) Verdict { return out.Service.Choices[i].Verdict })
	out.Change = changeOfService(f, b)
	return out
}

// choice is the result for a flow that is sent on to one backend: the pod with the address, if any.
func (inv *Inventory) choice(f *intent.Flow, c *intent.Choice, p *pair, rows RowNamer) BackendAnswer {
	b := &c.Backend
	out := BackendAnswer{
		Address: inv.state.Shown(b.AddrPort().String()), Pod: inv.podAt(b.Addr), Node: b.Node,
	}
	to := &connection{*f, p.from.name, cmp.Or(out.Pod, out.Address), rows}
	to.Dst, to.Port = intent.Party{Addr: b.Addr}, b.Port
	out.Egress, out.Ingress = inv.sides(to, c.Egress, c.Ingress)
	out.Verdict = both(out.Egress.Verdict, out.Ingress.Verdict)
	out.Change = inv.change(to, out.Egress, out.Ingress)
	return out
}

// podAt returns the pod with an address, the first of several; "" if there is none.
func (inv *Inventory) podAt(a netip.Addr) string {
	if pods := inv.byAddr[a]; len(pods) > 0 {
		return inv.set.nameOf(pods[0].Key)
	}
	return ""
}

func familyOf(a netip.Addr) string {
	if a.Is4() {
		return "ipv4"
	}
	return "ipv6"
}
