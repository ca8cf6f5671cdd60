package lb

import (
	"fmt"
	"net/netip"
	"reflect"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// pool is the backends of frontends that share a variable.
type pool struct {
	backends []intent.Backend
	locality intent.Locality
	variable string
}

// pool is the variable that holds, on each chassis, the backends for clients there. Frontends of equal backends share it:
// a node port has as many frontends as there are nodes.
func (w *writer) pool(f *intent.Frontend, inside bool) string {
	id := fmt.Sprintf("%s|%s/%d|%s|%s|inside=%t", w.lb.ID, f.Protocol, f.Port, f.Kind, nb.FamilyName(intent.FamilyOf(f.Addr)), inside)
	for _, p := range w.pools[id] {
		if p.locality == f.Locality && sameBackends(p.backends, f.Backends) {
			return p.variable
		}
	}
	p := pool{f.Backends, f.Locality, w.Names.Variable(fmt.Sprintf("%s#%d", id, len(w.pools[id])))}
	w.pools[id] = append(w.pools[id], p)
	for _, c := range w.chassis() {
		w.set(c.name, p.variable, w.value(f, f.Choose(c.node, inside)))
	}
	return p.variable
}

func sameBackends(a, b []intent.Backend) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b)
}

// templateVIP is the key of a frontend in a row with variables. There OVN reads no literal address of IPv6.
func (w *writer) templateVIP(f *intent.Frontend) string {
	if f.Addr.Is4() {
		return netip.AddrPortFrom(f.Addr, f.Port).String()
	}
	name := w.Names.Variable(fmt.Sprintf("%s|address|%s", w.lb.ID, f.Addr))
	for _, c := range w.chassis() {
		w.set(c.name, name, f.Addr.String())
	}
	return fmt.Sprintf("^%s:%d", name, f.Port)
}

// set gives a variable its value on a chassis.
func (w *writer) set(chassis, variable, value string) {
	if w.vars == nil {
		w.vars = map[string]map[string]string{}
	}
	if w.vars[chassis] == nil {
		w.vars[chassis] = map[string]string{}
	}
	w.vars[chassis][variable] = value
}
