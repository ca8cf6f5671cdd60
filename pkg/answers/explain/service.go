package explain

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Service is where a Service sends connections.
type Service struct {
	Name    string `json:"name"` // namespace/name
	Network string `json:"network,omitempty"`
	// Note is why it has no frontends.
	Note      string           `json:"note,omitempty"`
	Frontends []Frontend       `json:"frontends"`
	Problems  []object.Problem `json:"problems,omitempty"`
}

// Frontend is an address of a Service, and its backends.
type Frontend struct {
	intents.Frontend
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

func explainService(w *world.World, n *name.Name) (*Service, error) {
	out := &Service{Name: n.Full(), Frontends: []Frontend{}, Problems: w.ProblemsOf(object.KindService, n.Full())}
	object := w.Service(n.Full())
	balancers := w.Balancers(n.Full())
	for _, lb := range balancers {
		out.Network = lb.Network
		for i, front := range intents.OfBalancer(lb).Frontends {
			if f := &lb.Frontends[i]; world.PortIs(f, n.Port, object) {
				out.Frontends = append(out.Frontends, serviceFrontend(w, lb, f, front, object))
			}
		}
	}
	switch {
	case len(out.Frontends) > 0:
	case n.Port != "" && len(balancers) > 0:
		return nil, world.NoPort(n, balancers[0], object)
	default:
		out.Note = noFrontends(object)
	}
	return out, nil
}

func serviceFrontend(w *world.World,
	lb *intent.LoadBalancer, f *intent.Frontend, front intents.Frontend, object *corev1.Service,
) Frontend {
	front.Backends, front.Address = nil, w.State.Shown(front.Address)
	backends := f.Backends
	if f.Locality == intent.NodeOfFrontend {
		backends = f.Choose(nil, false) // the others are on other nodes
	}
	for backend := range backends.All() {
		b := intents.OfBackend(backend)
		b.Pod, b.Address = w.PodAt(backend.Addr), w.State.Shown(b.Address)
		front.Backends = append(front.Backends, b)
	}
	out := Frontend{Frontend: front, Port: world.PortNameOf(f, object), PerNode: perNode(w, f)}
	if backends.Len() == 0 {
		out.Empty = "dropped"
		if f.Backends.Len() == 0 && lb.RejectEmpty {
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
func perNode(w *world.World, f *intent.Frontend) []NodeChoice {
	var out []NodeChoice
	for _, sender := range []struct {
		name   string
		inside bool
	}{{"pods", true}, {"outside", false}} {
		if !f.PerNode(sender.inside) {
			continue
		}
		for node := range w.State.Snapshot.Nodes() {
			c := NodeChoice{Node: node.Name, Sender: sender.name}
			for b := range f.Choose(node, sender.inside).All() {
				c.Backends = append(c.Backends, w.State.Shown(b.AddrPort().String()))
			}
			out = append(out, c)
		}
	}
	return out
}
