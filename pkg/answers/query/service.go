package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/intent"
)

// service is the destination of a question: the frontends of a Service, or those of one of its ports.
type service struct {
	name      string          // [cluster/]svc/namespace/name
	object    *corev1.Service // nil if it is unknown
	balancer  *intent.LoadBalancer
	frontends []*intent.Frontend // at least one
}

// service finds the frontends of namespace/name, or of namespace/name:port, at its cluster IPs.
func (inv *Inventory) service(text string) (end, error) {
	name, portText, _ := strings.Cut(text, ":")
	object := inv.services[name]
	balancers := inv.balancers[name]
	if object == nil && len(balancers) == 0 {
		return end{}, notFound(KindService, name, inv.Names(KindService))
	}
	e := end{name: inv.prefix() + "svc/" + text, kind: KindService, in: inv}
	for _, lb := range balancers {
		s := &service{name: inv.prefix() + "svc/" + name, object: object, balancer: lb}
		for i := range lb.Frontends {
			f := &lb.Frontends[i]
			if f.Kind == intent.ClusterAddress && portIs(f, portText, object) {
				s.frontends = append(s.frontends, f)
			}
		}
		if len(s.frontends) > 0 {
			e.service = s
			break
		}
	}
	switch {
	case len(balancers) == 0:
		return end{}, fmt.Errorf("service %s has no address of its own: use its pods", name)
	case e.service == nil:
		return end{}, fmt.Errorf("service %s has no port %s%s", name, portText, portsHint(balancers[0], object))
	}
	for _, f := range e.service.frontends {
		e.addrs = append(e.addrs, f.Addr)
	}
	return e, nil
}

// portIs reports whether a frontend is that of a service's port: "" means every port, otherwise a number, a name, or one of
// these after a protocol.
func portIs(f *intent.Frontend, text string, object *corev1.Service) bool {
	if proto, rest, ok := strings.Cut(text, "/"); ok {
		if !strings.EqualFold(proto, f.Protocol.String()) {
			return false
		}
		text = rest
	}
	if text == "" || text == strconv.Itoa(int(f.Port)) {
		return true
	}
	return text == portNameOf(f, object)
}

// portNameOf is the name of a frontend's port in the Service.
func portNameOf(f *intent.Frontend, object *corev1.Service) string {
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

// portsHint lists the ports of a service.
func portsHint(lb *intent.LoadBalancer, object *corev1.Service) string {
	var known []string
	for i := range lb.Frontends {
		f := &lb.Frontends[i]
		if f.Kind != intent.ClusterAddress {
			continue
		}
		text := fmt.Sprintf("%s/%d", f.Protocol, f.Port)
		if name := portNameOf(f, object); name != "" {
			text += " (" + name + ")"
		}
		if !slices.Contains(known, text) {
			known = append(known, text)
		}
	}
	if len(known) == 0 {
		return ""
	}
	return "; it has " + joinAnd(known)
}

// onlyPort is the port of a service that has only one.
func (s *service) onlyPort() (port, error) {
	first := s.frontends[0]
	for _, f := range s.frontends[1:] {
		if f.Port != first.Port || f.Protocol != first.Protocol {
			return port{}, fmt.Errorf("service %s has several ports: add one, such as %s:%d", strings.TrimPrefix(s.name, "svc/"), s.name, first.Port)
		}
	}
	return port{protocol: first.Protocol, number: first.Port}, nil
}

// port is the service's own port for a question.
func (s *service) port(asked port) (port, error) {
	for _, f := range s.frontends {
		named := asked.name != "" && asked.name == portNameOf(f, s.object)
		if f.Protocol == asked.protocol && (named || asked.name == "" && f.Port == asked.number) {
			return port{protocol: f.Protocol, number: f.Port}, nil
		}
	}
	return port{}, fmt.Errorf("service %s has no port %s%s", strings.TrimPrefix(s.name, "svc/"), asked, portsHint(s.balancer, s.object))
}
