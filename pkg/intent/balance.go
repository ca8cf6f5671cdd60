package intent

import "github.com/netloom/netloom/pkg/object"

// Outcome is what happens to a flow to a frontend. The zero value is none.
type Outcome uint8

// SentOn goes to one of the choices. Refused is rejected at once: there is no backend anywhere. Unserved is dropped:
// there is no backend for this flow. Barred is dropped: the frontend does not take flows from that source.
const (
	SentOn Outcome = iota + 1
	Refused
	Unserved
	Barred
)

// String returns the outcome's lower-case name.
func (o Outcome) String() string {
	switch o {
	case SentOn:
		return "sent on"
	case Refused:
		return "refused"
	case Unserved:
		return "unserved"
	case Barred:
		return "barred"
	default:
		return "no outcome"
	}
}

// Balanced is the result of balancing a flow to a frontend.
type Balanced struct {
	LoadBalancer *LoadBalancer
	Frontend     *Frontend
	Outcome      Outcome
	Choices      []Choice // the flow is sent to one of these backends; only with SentOn
}

// Choice is a backend that a flow may be sent to, and the decisions of policies in that case.
type Choice struct {
	Backend Backend
	Allowed bool
	Egress  Decision // of the source's policies, on the backend's address and port
	Ingress Decision // of the backend's policies
}

// balance judges a flow to a frontend by each backend that it may be sent to.
func (s *Snapshot) balance(f Flow, lb *LoadBalancer, front *Frontend) Verdict {
	b := &Balanced{LoadBalancer: lb, Frontend: front}
	v := Verdict{Balanced: b}
	if covers(front.Denied, f.Src.Addr) {
		b.Outcome = Barred
		return v
	}
	backends := front.Choose(s.entry(f.Node), f.OwnNode || f.Src.Key != object.Key{})
	switch {
	case backends.Len() > 0:
		b.Outcome = SentOn
	case front.Backends.Len() == 0 && lb.RejectEmpty:
		b.Outcome = Refused
		return v
	default:
		b.Outcome = Unserved
		return v
	}
	v.Allowed = true
	for backend := range backends.All() {
		to := f
		// The endpoint that has the address gets the flow: the key is from the source object, and may be out of date.
		to.Dst, to.Port = Party{Addr: backend.Addr}, backend.Port
		one := s.judge(to)
		b.Choices = append(b.Choices, Choice{*backend, one.Allowed, one.Egress, one.Ingress})
		if len(b.Choices) == 1 || v.Allowed && !one.Allowed {
			v.Egress, v.Ingress = one.Egress, one.Ingress
		}
		v.Allowed = v.Allowed && one.Allowed
	}
	return v
}

// entry returns the node with a name, or one with only the name if the snapshot does not have it; nil for "".
func (s *Snapshot) entry(name string) *Node {
	if n := s.Node(name); n != nil || name == "" {
		return n
	}
	return &Node{Name: name}
}
