package suggest

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// MaxConnections is how many connections one suggestion may be for.
const MaxConnections = 10_000

// Suggestion is the policies for some connections, and what they change.
type Suggestion struct {
	Policies []*networkingv1.NetworkPolicy `json:"policies"`
	// Already counts the connections that are allowed without a policy, in all address families and to all backends. The flows between two
	// ends to one port are one connection, as in Refusal.
	Already int `json:"alreadyAllowed"`
	// Refused are the connections that no NetworkPolicy can allow.
	Refused []Refusal `json:"refused,omitempty"`
	// Beyond is what the policies change besides the connections, as far as it is listed; empty if they change nothing else.
	Beyond []Effect `json:"beyond,omitempty"`
	More   int      `json:"moreBeyond,omitempty"` // changes that Beyond omits, at least
}

// Refusal is a connection that no NetworkPolicy can allow.
type Refusal struct {
	Connection string `json:"connection"`
	Reason     string `json:"reason"`
}

// Apply returns the state with policies added to those of the state in question.
type Apply func([]*networkingv1.NetworkPolicy) (world.State, error)

func newCluster(state world.State) *cluster {
	w := &cluster{
		state: state, pods: map[object.Key]*labelcache.Endpoint{}, byNamespace: map[string][]*labelcache.Endpoint{},
		holders: map[netip.Addr]int{}, existing: map[string]bool{},
	}
	for e := range state.View.Endpoints() {
		w.pods[e.Key] = e
		for _, a := range e.AllAddrs() {
			w.holders[a]++
		}
		w.byNamespace[e.Key.Namespace] = append(w.byNamespace[e.Key.Namespace], e)
	}
	for _, list := range w.byNamespace {
		slices.SortFunc(list, func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) })
	}
	for _, p := range state.Objects.Policies {
		w.existing[p.Namespace+"/"+p.Name] = true
	}
	return w
}

// For returns the policies that connections need, with the proof of what they change. Apply translates them.
func For(state world.State, connections []question.Connection, apply Apply) (*Suggestion, error) {
	if len(connections) > MaxConnections {
		return nil, fmt.Errorf("%d connections are more than the limit of %d: ask for fewer at once", len(connections), MaxConnections)
	}
	w, out, n := newCluster(state), &Suggestion{Policies: []*networkingv1.NetworkPolicy{}}, &needs{}
	refused, allowed := map[Refusal]bool{}, tally{}
	var wanted, open []question.Connection
	for i := range connections {
		c := &connections[i]
		v := state.Snapshot.Evaluate(c.Flow)
		allowed.add(c, v.Allowed)
		if v.Allowed {
			open = append(open, *c)
			continue
		}
		if reason := w.refusal(c, &v); reason != "" {
			if r := (Refusal{c.String(), reason}); !refused[r] {
				refused[r] = true
				out.Refused = append(out.Refused, r)
			}
			continue
		}
		_ = n.add(w, &c.Flow, &v)
		wanted = append(wanted, *c)
	}
	out.Already = allowed.count()
	if len(wanted) == 0 {
		return out, nil
	}
	after, err := out.settle(w, n, wanted, open, apply)
	if err != nil {
		return nil, err
	}
	out.Beyond, out.More = beyond(state, after, wanted)
	return out, nil
}

// tally has, for each connection, whether all of its flows are allowed.
type tally map[string]bool

func (t tally) add(flow *question.Connection, allowed bool) {
	name := flow.String()
	earlier, seen := t[name]
	t[name] = allowed && (earlier || !seen)
}

// count returns how many connections are allowed.
func (t tally) count() (n int) {
	for _, allowed := range t {
		if allowed {
			n++
		}
	}
	return n
}

// settle writes policies until they allow all that is wanted, and returns the state with them. A pod that only policies of
// the baseline tier protected is isolated by its first NetworkPolicy: then it needs rules for connections that were open, too,
// as far as a policy can name them.
func (s *Suggestion) settle(w *cluster, n *needs, wanted, open []question.Connection, apply Apply) (world.State, error) {
	for {
		s.Policies = w.policies(n)
		after, err := apply(slices.Clone(s.Policies))
		if err != nil {
			return after, fmt.Errorf("apply the suggested policies: %w", err)
		}
		var denied *question.Connection
		added := false
		for i := range wanted {
			if v := after.Snapshot.Evaluate(wanted[i].Flow); !v.Allowed {
				denied = &wanted[i]
				added = n.add(w, &denied.Flow, &v) || added
			}
		}
		for i := range open {
			if v := after.Snapshot.Evaluate(open[i].Flow); !v.Allowed && w.refusal(&open[i], &v) == "" {
				added = n.add(w, &open[i].Flow, &v) || added
			}
		}
		switch {
		case added:
		case denied == nil:
			return after, nil
		default:
			return after, fmt.Errorf("the suggested policies do not allow %s: %w", denied.String(), errInsufficient)
		}
	}
}

// errInsufficient means that a suggestion failed its own proof.
var errInsufficient = errors.New("this is a defect in netloom; please report it")

// refusal returns why no NetworkPolicy can allow a denied connection; "" if one can.
func (w *cluster) refusal(c *question.Connection, v *intent.Verdict) string {
	switch c.Protocol {
	case intent.TCP, intent.UDP, intent.SCTP:
	case intent.ICMP, intent.ICMPv6:
		fallthrough
	default:
		return "a NetworkPolicy can only allow it together with all other traffic"
	}
	for _, p := range []intent.Party{c.Src, c.Dst} {
		if w.holders[p.Addr] > 1 {
			return fmt.Sprintf("several pods have the address %s", p.Addr)
		}
	}
	if v.Balanced != nil {
		return "a Service sends it on: ask for the Service"
	}
	for _, side := range []struct {
		name string
		*intent.Decision
		party intent.Party
	}{{"egress", &v.Egress, c.Src}, {"ingress", &v.Ingress, c.Dst}} {
		switch {
		case side.Allowed:
		case w.pods[side.party.Key] == nil:
			return fmt.Sprintf("%s has no labels that a policy could select", side.party.Addr)
		case side.Tier == intent.TierAdmin || side.Tier == intent.TierSystem || side.Tier == intent.TierNetworkPolicy && side.By[0].Rule >= 0:
			p := w.state.Snapshot.Policy(side.By[0].Policy)
			return fmt.Sprintf("%s is denied by %s %s, which no NetworkPolicy can override", side.name, p.Origin, p.Rules[side.By[0].Rule].Path)
		}
	}
	return ""
}
