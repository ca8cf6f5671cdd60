package world

import (
	"fmt"
	"net/netip"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/object"
)

// End is one end of a connection: a pod, a node, a Service or an address.
type End struct {
	Name    string // as in answers
	Kind    name.Kind
	Key     object.Key // of the endpoint that policies see; zero if they see an address
	Addrs   []netip.Addr
	Node    string // where it runs; "" if unknown or anywhere
	Note    string // what policies see, if that differs from the name
	Ports   []labelcache.NamedPort
	Service *Service
	In      *World // of its cluster; nil for an address that no pod of a single cluster has
	// Workload is the object that the end was named by; nil if it was named by itself.
	Workload *Workload
}

// Cluster is the name of the end's cluster; "" for an address outside.
func (e *End) Cluster() string {
	if e.In == nil {
		return ""
	}
	return e.In.State.Cluster
}

// Asks returns the port that a question means at an end: of a pod, with the number that it assigns to a name.
func (e *End) Asks(asked name.Port) (name.Port, error) {
	switch {
	case e.Service != nil:
		return e.Service.Asks(asked)
	case asked == (name.Port{}):
		return asked, fmt.Errorf("%s: expected a port, such as %s:tcp/80", e.Name, e.Name)
	case asked.Name == "":
		return asked, nil
	}
	var known []string
	for _, named := range e.Ports {
		if named.Protocol == labelcache.Protocol(asked.Protocol) && named.Name == asked.Name {
			return name.Port{Protocol: asked.Protocol, Number: named.Number}, nil
		}
		known = append(known, fmt.Sprintf("%s/%s (%d)", named.Protocol, named.Name, named.Number))
	}
	if len(known) == 0 {
		return name.Port{}, fmt.Errorf("%s has no named ports: use a number instead of %s", e.Name, asked)
	}
	return name.Port{}, fmt.Errorf("%s has no port %s: it has %s", e.Name, asked, name.And(known))
}
