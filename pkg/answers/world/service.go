package world

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/intent"
)

// Service is the frontends of a Service, or those of one of its ports.
type Service struct {
	Name      string          // [cluster/]svc/namespace/name
	Object    *corev1.Service // nil if it is unknown
	Balancer  *intent.LoadBalancer
	Frontends []*intent.Frontend // at least one
}

// PortIs reports whether a frontend is that of a service's port: "" means every port, otherwise a number, a name, or one of
// these after a protocol.
func PortIs(f *intent.Frontend, text string, object *corev1.Service) bool {
	if proto, rest, ok := strings.Cut(text, "/"); ok {
		if !strings.EqualFold(proto, f.Protocol.String()) {
			return false
		}
		text = rest
	}
	if text == "" || text == strconv.Itoa(int(f.Port)) {
		return true
	}
	return text == PortNameOf(f, object)
}

// PortNameOf is the name of a frontend's port in the Service.
func PortNameOf(f *intent.Frontend, object *corev1.Service) string {
	if object == nil {
		return ""
	}
	for i := range object.Spec.Ports {
		p := &object.Spec.Ports[i]
		proto := strings.ToLower(string(p.Protocol))
		if int(f.Port) == int(p.Port) && (proto == f.Protocol.String() || proto == "" && f.Protocol == intent.TCP) {
			return p.Name
		}
	}
	return ""
}

// NoPort is the error about a port that a Service does not have.
func NoPort(n *name.Name, lb *intent.LoadBalancer, object *corev1.Service) error {
	return fmt.Errorf("service %s has no port %s%s", n.Full(), n.Port, portsHint(lb, object))
}

// portsHint lists the ports of a service.
func portsHint(lb *intent.LoadBalancer, object *corev1.Service) string {
	var known []string
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		if f.Kind != intent.ClusterAddress {
			continue
		}
		text := fmt.Sprintf("%s/%d", f.Protocol, f.Port)
		if named := PortNameOf(f, object); named != "" {
			text += " (" + named + ")"
		}
		if !slices.Contains(known, text) {
			known = append(known, text)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "; it has " + name.And(known)
}

// Asks returns the port of the Service that a question means: its only one for the zero value.
func (s *Service) Asks(asked name.Port) (name.Port, error) {
	if asked == (name.Port{}) {
		return s.onlyPort()
	}
	for _, f := range s.Frontends {
		named := asked.Name != "" && asked.Name == PortNameOf(f, s.Object)
		if f.Protocol == asked.Protocol && (named || asked.Name == "" && f.Port == asked.Number) {
			return name.Port{Protocol: f.Protocol, Number: f.Port}, nil
		}
	}
	return name.Port{}, fmt.Errorf("service %s has no port %s%s", strings.TrimPrefix(s.Name, "svc/"), asked, portsHint(s.Balancer, s.Object))
}

func (s *Service) onlyPort() (name.Port, error) {
	first := s.Frontends[0]
	for _, f := range s.Frontends[1:] {
		if f.Port != first.Port || f.Protocol != first.Protocol {
			return name.Port{}, fmt.Errorf("service %s has several ports: add one, such as %s:%d", strings.TrimPrefix(s.Name, "svc/"), s.Name, first.Port)
		}
	}
	return name.Port{Protocol: first.Protocol, Number: first.Port}, nil
}
