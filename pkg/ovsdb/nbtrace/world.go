package nbtrace

import (
	"fmt"
	"net/netip"
)

// SetError is an address set with an invalid entry, whose effect in OVN is undefined.
type SetError struct {
	Name string
	Err  error
}

// Error formats e with the name of the set.
func (e *SetError) Error() string { return fmt.Sprintf("address set %s: %v", e.Name, e.Err) }

// Unwrap is the cause.
func (e *SetError) Unwrap() error { return e.Err }

// newWorld indexes the groups and sets of rows. A port group NAME is also two sets, as in OVN: the addresses of its ports,
// NAME_ip4 and NAME_ip6.
func newWorld(rows Rows) (*world, []error) {
	var faults []error
	w := &world{
		groups: map[string]map[string]bool{}, sets: map[string]*addressIndex{}, unclear: map[string]bool{}, fields: vocabulary(),
	}
	addrs := map[string][]netip.Addr{}
	for i := range rows.Ports {
		addrs[rows.Ports[i].Name] = rows.Ports[i].IPs()
	}
	for _, g := range rows.PortGroups {
		ports := map[string]bool{}
		ip4, ip6 := newAddresses(), newAddresses()
		for _, p := range g.Ports {
			ports[p] = true
			for _, a := range addrs[p] {
				if a.Is4() {
					ip4.addrs[a] = true
				} else {
					ip6.addrs[a] = true
				}
			}
		}
		w.groups[g.Name], w.sets[g.Name+"_ip4"], w.sets[g.Name+"_ip6"] = ports, ip4, ip6
	}
	for _, s := range rows.AddressSets {
		x, err := newAddressIndex(s.Addresses)
		if err != nil {
			faults = append(faults, &SetError{s.Name, err})
			w.unclear[s.Name] = true
			continue
		}
		w.sets[s.Name] = x
	}
	return w, faults
}
