package question

import (
	"fmt"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Connection is a flow between two addresses as policies see it, with the names of its ends.
type Connection struct {
	intent.Flow

	From, To string
}

// String formats the connection like an answer: "shop/web-0 -> shop/db-0 tcp/5432".
func (c *Connection) String() string { return c.From + " -> " + c.To + " " + PortText(&c.Flow) }

// Connections lists the flows that a question is about: one for each two addresses of one family. Those to a Service are
// listed as sent on to its backends. Of a workload, all pods are ends, also those that stand for others. A pod is a party by its key, also if the question names its address.
func Connections(w *world.World, q Question, at Where) ([]Connection, error) {
	pairs, err := PairsOf(w, q, at, true)
	if err != nil {
		return nil, err
	}
	var out []Connection
	for i := range pairs {
		flows, err := pairs[i].Flows(at)
		if err != nil {
			return nil, err
		}
		for _, f := range flows {
			list, err := sentOn(w, f, &pairs[i])
			if err != nil {
				return nil, err
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

// sentOn returns a flow of a pair, or those to the backends that a Service may choose for it.
func sentOn(w *world.World, f intent.Flow, p *Pair) ([]Connection, error) {
	f.Src, f.Dst = party(w, f.Src), party(w, f.Dst)
	c := Connection{Flow: f, From: nameOf(w, f.Src, p.From.Name), To: nameOf(w, f.Dst, p.To.Name)}
	b := p.At.State.Snapshot.Evaluate(f).Balanced
	if b == nil {
		return []Connection{c}, nil
	}
	if b.Outcome != intent.SentOn {
		return nil, fmt.Errorf("%s: the Service does not send it on (%s): policies do not decide about it", p, b.Outcome)
	}
	var out []Connection
	for i := range b.Choices {
		to := c
		to.Dst, to.Port = party(w, intent.Party{Addr: b.Choices[i].Backend.Addr}), b.Choices[i].Backend.Port
		to.To = nameOf(w, to.Dst, to.Dst.Addr.String())
		out = append(out, to)
	}
	return out, nil
}

// party returns p with the key of the only pod that has its address.
func party(w *world.World, p intent.Party) intent.Party {
	if pods := w.PodsAt(p.Addr); p.Key == (object.Key{}) && len(pods) == 1 {
		p.Key = pods[0].Key
	}
	return p
}

// nameOf returns the name of a pod, and another for what is none.
func nameOf(w *world.World, p intent.Party, other string) string {
	if p.Key != (object.Key{}) {
		return w.NameOf(p.Key)
	}
	return other
}

// PortText formats the protocol and the port of a flow, such as tcp/80.
func PortText(f *intent.Flow) string {
	if f.Protocol == intent.ICMP || f.Protocol == intent.ICMPv6 {
		return f.Protocol.String()
	}
	return fmt.Sprintf("%s/%d", f.Protocol, f.Port)
}
