package query

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// ServiceExplanation is where a Service sends connections.
type ServiceExplanation struct {
	Name    string `json:"name"` // namespace/name
	Network string `json:"network,omitempty"`
	// Note is why it has no frontends.
	Note      string            `json:"note,omitempty"`
	Frontends []ServiceFrontend `json:"frontends"`
	Problems  []object.Problem  `json:"problems,omitempty"`
}

// ServiceFrontend is an address of a Service, and its backends.
type ServiceFrontend struct {
	FrontendIntent
	Port    string       `json:"portName,omitempty"`
	Empty   string       `json:"empty,omitempty"`   // without backends: whether connections are refused or dropped
	PerNode []NodeChoice `json:"perNode,omitempty"` // if it depends on the node where a connection enters
}

// NodeChoice is the backends for connections that enter at a node.
type NodeChoice struct {
	Node     string   `json:"node"`
	Sender   string   `json:"sender"`             // pods, or outside
	Backends []string `json:"backends,omitempty"` // their addresses; without any the connection is dropped
}

func (inv *Inventory) explainService(name string) *ServiceExplanation {
	out := &ServiceExplanation{Name: name, Frontends: []ServiceFrontend{}, Problems: inv.problemsOf(object.KindService, name)}
	object := inv.services[name]
	for _, lb := range inv.balancers[name] {
		out.Network = lb.Network
		for i, front := range balancerIntent(lb).Frontends {
			out.Frontends = append(out.Frontends, inv.serviceFrontend(lb, &lb.Frontends[i], front, object))
		}
	}
	if len(out.Frontends) == 0 {
		out.Note = noFrontends(object)
	}
	return out
}

func (inv *Inventory) serviceFrontend(
	lb *intent.LoadBalancer, f *intent.Frontend, front FrontendIntent, object *corev1.Service,
) ServiceFrontend {
	front.Backends, front.Address = nil, inv.state.Shown(front.Address)
	backends := f.Backends
	if f.Locality == intent.NodeOfFrontend {
		backends = f.Choose(nil, false) // the others are on other nodes
	}
	for i := range backends {
		b := backendIntent(&backends[i])
		b.Pod, b.Address = inv.podAt(backends[i].Addr), inv.state.Shown(b.Address)
		front.Backends = append(front.Backends, b)
	}
	out := ServiceFrontend{FrontendIntent: front, Port: portNameOf(f, object), PerNode: inv.perNode(f)}
	if len(backends) == 0 {
		out.Empty = "dropped"
		if len(f.Backends) == 0 && lb.RejectEmpty {
			out.Empty = "refused"
		}
	}
	return out
}

// noFrontends returns why a Service has none.
func noFrontends(s *corev1.Service) string {
	switch {
	case s == nil:
		return "it is unknown"
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		return "it is an alias for " + s.Spec.ExternalName
	case s.Spec.ClusterIP == corev1.ClusterIPNone:
		return "it is headless: its name resolves to its pods"
	case s.Spec.ClusterIP == "":
		return "it has no address yet: its manifest needs spec.clusterIP"
	default:
		return "another proxy handles it, or another Service has its addresses"
	}
}

// perNode lists the choices of a frontend at each node, for the kinds of senders for which they depend on it.
func (inv *Inventory) perNode(f *intent.Frontend) []NodeChoice {
	var out []NodeChoice
	for _, sender := range []struct {
		name   string
		inside bool
	}{{"pods", true}, {"outside", false}} {
		if !f.PerNode(sender.inside) {
			continue
		}
		for node := range inv.state.Snapshot.Nodes() {
			c := NodeChoice{Node: node.Name, Sender: sender.name}
			for _, b := range f.Choose(node, sender.inside) {
				c.Backends = append(c.Backends, inv.state.Shown(b.AddrPort().String()))
			}
			out = append(out, c)
		}
	}
	return out
}
