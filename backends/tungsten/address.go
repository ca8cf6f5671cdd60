package tungsten

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/tungsten"
)

// address is an instance IP.
type address struct {
	uuid       string
	name       string
	addr       netip.Addr
	network    string   // its fully qualified name in one string
	interfaces []string // UUIDs
}

func (a *address) equal(o *address) bool {
	return a.name == o.name && a.addr == o.addr && a.network == o.network && slices.Equal(a.interfaces, o.interfaces)
}

// addresses are the instance IPs of a controller: where the backends of Services are, and which VIPs are taken.
type addresses struct {
	byUUID map[string]*address
	byAddr map[netip.Addr][]*address
	byPort map[string][]*address // by UUID of an interface
}

func newAddresses() *addresses {
	return &addresses{byUUID: map[string]*address{}, byAddr: map[netip.Addr][]*address{}, byPort: map[string][]*address{}}
}

// addressFields are the fields of an instance IP that addressOf needs.
func addressFields() []string {
	return []string{"instance_ip_address", "virtual_network_refs", "virtual_machine_interface_refs"}
}

// addressOf reads an instance IP; nil if it has no address.
func addressOf(o *tungsten.Object) *address {
	a := &address{uuid: o.UUID, name: o.Name()}
	var err error
	if a.addr, err = netip.ParseAddr(o.InstanceIPAddress); err != nil {
		return nil
	}
	for _, ref := range o.VirtualNetworkRefs {
		a.network = ref.Target()
	}
	for _, ref := range o.InterfaceRefs {
		a.interfaces = append(a.interfaces, ref.UUID)
	}
	slices.Sort(a.interfaces)
	return a
}

// put adds or replaces an instance IP.
func (l *addresses) put(a *address) {
	l.remove(a.uuid)
	l.byUUID[a.uuid] = a
	l.byAddr[a.addr] = ordered(append(slices.Clone(l.byAddr[a.addr]), a))
	for _, id := range a.interfaces {
		l.byPort[id] = ordered(append(slices.Clone(l.byPort[id]), a))
	}
}

func ordered(list []*address) []*address {
	slices.SortFunc(list, func(a, b *address) int { return strings.Compare(a.uuid, b.uuid) })
	return list
}

// remove removes an instance IP, and reports whether it was there.
func (l *addresses) remove(uuid string) bool {
	a := l.byUUID[uuid]
	if a == nil {
		return false
	}
	delete(l.byUUID, uuid)
	without(l.byAddr, a.addr, a)
	for _, id := range a.interfaces {
		without(l.byPort, id, a)
	}
	return true
}

func without[K comparable](in map[K][]*address, k K, a *address) {
	left := slices.DeleteFunc(slices.Clone(in[k]), func(o *address) bool { return o == a })
	if in[k] = left; len(left) == 0 {
		delete(in, k)
	}
}
