package lb

import (
	"fmt"
	"net/netip"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// chassis is a node as OVN knows it.
type chassis struct {
	name string
	node *intent.Node
}

// variables are the template variables of one load balancer.
type variables struct {
	names  nb.Namer
	id     intent.LoadBalancerID
	pools  map[string][]pool
	values map[string]map[string]string // by chassis and name
}

// pool is the backends of frontends that share a variable.
type pool struct {
	backends intent.Backends
	locality intent.Locality
	variable string
}

// pool returns the variable that has, on each chassis, the backends for clients there, as formatted by value. Frontends
// with equal backends share it: a node port has as many frontends as there are nodes.
func (v *variables) pool(nodes []chassis, f *intent.Frontend, inside bool, value func(*intent.Node) string) string {
	id := fmt.Sprintf("%s|%s/%d|%s|%s|inside=%t", v.id, f.Protocol, f.Port, f.Kind, nb.FamilyName(intent.FamilyOf(f.Addr)), inside)
	for _, p := range v.pools[id] {
		if p.locality == f.Locality && p.backends.Equal(f.Backends) {
			return p.variable
		}
	}
	p := pool{f.Backends, f.Locality, v.names.Variable(fmt.Sprintf("%s#%d", id, len(v.pools[id])))}
	if v.pools == nil {
		v.pools = map[string][]pool{}
	}
	v.pools[id] = append(v.pools[id], p)
	for _, c := range nodes {
		v.set(c.name, p.variable, value(c.node))
	}
	return p.variable
}

// vip returns the key of a frontend in a row with variables. OVN does not parse literal IPv6 addresses there.
func (v *variables) vip(nodes []chassis, f *intent.Frontend) string {
	if f.Addr.Is4() {
		return netip.AddrPortFrom(f.Addr, f.Port).String()
	}
	name := v.names.Variable(fmt.Sprintf("%s|address|%s", v.id, f.Addr))
	for _, c := range nodes {
		v.set(c.name, name, f.Addr.String())
	}
	return fmt.Sprintf("^%s:%d", name, f.Port)
}

// set gives a variable its value on a chassis.
func (v *variables) set(chassis, name, value string) {
	if v.values == nil {
		v.values = map[string]map[string]string{}
	}
	within(v.values, chassis)[name] = value
}

// within returns the inner map of a key, creating it if there is none.
func within[K, L comparable, V any](m map[K]map[L]V, k K) map[L]V {
	if m[k] == nil {
		m[k] = map[L]V{}
	}
	return m[k]
}
