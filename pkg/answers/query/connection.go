package query

import (
	"fmt"
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Connection is a flow between two addresses as policies see it, with the names of its ends.
type Connection struct {
	intent.Flow

	From, To string
}

// String formats the connection like an answer: "shop/web-0 -> shop/db-0 tcp/5432".
func (c *Connection) String() string { return c.From + " -> " + c.To + " " + portText(&c.Flow) }

// Connections lists the flows that a question is about: one for each two addresses of one family. Those to a Service are
// listed as sent on to its backends. Of a workload, all pods are ends, also those that stand for others. A pod is a party by its key, also if the question names its address.
func (inv *Inventory) Connections(q Question, w Where) ([]Connection, error) {
	pairs, err := inv.pairs(q, w, true)
	if err != nil {
		return nil, err
	}
	var out []Connection
	for i := range pairs {
		flows, err := pairs[i].flows(w)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			list, err := inv.sentOn(f, &pairs[i])
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

// sentOn returns a flow of a pair, or those to the backends that a Service may choose for it.
func (inv *Inventory) sentOn(f intent.Flow, p *pair) ([]Connection, error) {
	f.Src, f.Dst = inv.party(f.Src), inv.party(f.Dst)
	c := Connection{Flow: f, From: inv.nameOf(f.Src, p.from.name), To: inv.nameOf(f.Dst, p.to.name)}
	b := p.at.state.Snapshot.Evaluate(f).Balanced
	if b == nil {
		return []Connection{c}, nil
	}
	if b.Outcome != intent.SentOn {
		return nil, fmt.Errorf("%s: the Service does not send it on (%s): policies do not decide about it", p, b.Outcome)
	}
	var out []Connection
	for i := range b.Choices {
		to := c
		to.Dst, to.Port = inv.party(intent.Party{Addr: b.Choices[i].Backend.Addr}), b.Choices[i].Backend.Port
		to.To = inv.nameOf(to.Dst, to.Dst.Addr.String())
		out = append(out, to)
	}
	return out, nil
}

// party returns p with the key of the only pod that has its address.
func (inv *Inventory) party(p intent.Party) intent.Party {
	if pods := inv.byAddr[p.Addr]; p.Key == (object.Key{}) && len(pods) == 1 {
		p.Key = pods[0].Key
	}
	return p
}

// nameOf returns the name of a pod, and another for what is none.
func (inv *Inventory) nameOf(p intent.Party, other string) string {
	if p.Key != (object.Key{}) {
		return inv.set.nameOf(p.Key)
	}
	return other
}

// At names what has an address: a pod, or several that share it, node/NAME, or the address itself. It reports whether pods
// have it.
func (inv *Inventory) At(a netip.Addr) (name string, pod bool) {
	switch pods := inv.byAddr[a]; {
	case len(pods) == 1:
		return inv.set.nameOf(pods[0].Key), true
	case len(pods) > 1:
		return a.String() + " of several pods", true
	}
	if node := inv.nodeOf[a]; node != "" {
		return "node/" + node, false
	}
	return a.String(), false
}
