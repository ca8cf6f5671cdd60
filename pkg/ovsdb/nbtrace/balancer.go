package nbtrace

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// BalancerError is a VIP of a load balancer that OVN skips, or whose behavior in OVN is undefined.
type BalancerError struct {
	UUID string
	VIP  string
	Err  error
}

// Error formats e with the load balancer's UUID and the VIP.
func (e *BalancerError) Error() string {
	return fmt.Sprintf("load balancer %s: vip %q: %v", e.UUID, e.VIP, e.Err)
}

// Unwrap is the cause.
func (e *BalancerError) Unwrap() error { return e.Err }

// balancer is a parsed load balancer.
type balancer struct {
	row      LoadBalancer
	protocol uint8
	template bool
	ip4      bool         // with template: the family of all its VIPs
	hairpin  []netip.Addr // hairpin_snat_ip
}

// vip is one entry of a load balancer.
type vip struct {
	of         *balancer
	key, value string
	// variable means that the entry is read for each chassis separately; at and backends are then empty.
	variable bool
	at       netip.AddrPort
	backends []netip.AddrPort
}

// vipKey is the key for the lookup of a packet. Port 0 means every port; protocol 0 is then every protocol.
type vipKey struct {
	addr     netip.Addr
	port     uint16
	protocol uint8
}

// vipIndex is the VIPs of some load balancers.
type vipIndex struct {
	literal   map[vipKey][]*vip
	variables []*vip // whose key depends on the chassis
}

// datapath is the load balancers of a switch or a router: its own and those of its groups.
type datapath []*vipIndex

// newBalancer reads a row. Entries that cannot be read are reported as errors, and skipped as northd skips them.
func newBalancer(row LoadBalancer) (*balancer, []*vip, []error) {
	b := &balancer{row: row, template: row.Options["template"] == "true", ip4: row.Options["address-family"] != "ipv6"}
	switch row.Protocol {
	case "", "tcp":
		b.protocol = protoTCP
	case "udp":
		b.protocol = protoUDP
	case "sctp":
		b.protocol = protoSCTP
	}
	for _, text := range strings.Fields(row.Options["hairpin_snat_ip"]) {
		if a, err := netip.ParseAddr(text); err == nil {
			b.hairpin = append(b.hairpin, a)
		}
	}
	var vips []*vip
	var faults []error
	fault := func(key string, err error) { faults = append(faults, &BalancerError{row.UUID, key, err}) }
	if b.template && row.Options["affinity_timeout"] != "" {
		fault("", errors.New("affinity_timeout does not work with template"))
	}
	for _, key := range slices.Sorted(maps.Keys(row.VIPs)) {
		v := &vip{of: b, key: key, value: row.VIPs[key], variable: b.template && strings.Contains(key+row.VIPs[key], "^")}
		var err error
		if b.template && !b.ip4 && !strings.HasPrefix(key, "^") {
			err = errors.New("an IPv6 address in a template has to be a variable")
		} else if !v.variable {
			v.at, v.backends, err = v.read(nil)
		}
		if err != nil {
			fault(key, err)
			continue
		}
		vips = append(vips, v)
	}
	return b, vips, faults
}

// read parses an entry as a chassis with these variables does. The address and port are valid even if the backends cannot
// be read.
func (v *vip) read(vars map[string]string) (netip.AddrPort, []netip.AddrPort, error) {
	at, err := v.where(vars)
	if err != nil {
		return at, nil, err
	}
	if v.of.template && at.Addr().Is4() != v.of.ip4 {
		return at, nil, errors.New("not of the address-family of the load balancer")
	}
	value := v.value
	if v.of.template {
		if value, err = expand(value, vars); err != nil {
			return at, nil, err
		}
	}
	backends, err := readBackends(value, at)
	return at, backends, err
}

// where parses the key of an entry. In a template the address and the port are separate variables, and an IPv6 address
// has no brackets.
func (v *vip) where(vars map[string]string) (netip.AddrPort, error) {
	if !v.of.template || !strings.Contains(v.key, "^") {
		return readVIP(v.key)
	}
	addr, port := v.key, ""
	if i := strings.LastIndexByte(v.key, ':'); i >= 0 {
		addr, port = v.key[:i], v.key[i+1:]
	}
	addr, err := expand(addr, vars)
	if err != nil {
		return netip.AddrPort{}, err
	}
	a, err := netip.ParseAddr(addr)
	if err != nil || port == "" {
		return netip.AddrPortFrom(a, 0), err
	}
	if port, err = expand(port, vars); err != nil {
		return netip.AddrPort{}, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return netip.AddrPortFrom(a, uint16(n)), err
}

// on is v as a chassis with these variables sees it.
func (v *vip) on(vars map[string]string) (netip.AddrPort, []netip.AddrPort, error) {
	if v.variable {
		return v.read(vars)
	}
	return v.at, v.backends, nil
}

// readVIP reads address:port, or an address alone, which gets port 0.
func readVIP(text string) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a, 0), nil
	}
	at, err := netip.ParseAddrPort(text)
	if err == nil && at.Port() == 0 {
		err = errors.New("port 0")
	}
	return at, err
}

// readBackends reads a list in the format of readVIP. One backend of another family voids them all. A backend without a
// port gets that of the VIP.
func readBackends(text string, of netip.AddrPort) ([]netip.AddrPort, error) {
	var list []netip.AddrPort
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		b, err := readVIP(part)
		if err != nil {
			return nil, err
		}
		if b.Addr().Is4() != of.Addr().Is4() {
			return nil, fmt.Errorf("backend %s is of another address family", part)
		}
		if b.Addr().IsUnspecified() {
			return nil, fmt.Errorf("backend %s makes the chassis lose its connection", part)
		}
		if b.Port() == 0 {
			b = netip.AddrPortFrom(b.Addr(), of.Port())
		}
		list = append(list, b)
	}
	return list, nil
}

var variable = regexp.MustCompile(`\^[A-Za-z_.][A-Za-z_.0-9]*`)

// expand replaces the variables in text by the values of a chassis.
func expand(text string, vars map[string]string) (string, error) {
	name, found := strings.CutPrefix(text, "^")
	if value := vars[name]; found && value != "" {
		return value, nil
	}
	if !strings.Contains(text, "^") {
		return text, nil
	}
	var missing error
	out := variable.ReplaceAllStringFunc(text, func(name string) string {
		value := vars[name[1:]]
		if value == "" {
			missing = fmt.Errorf("the chassis has no value for %s", name)
		}
		return value
	})
	return out, missing
}

// keyOf is the lookup key for packets to v if its address and port are at.
func (v *vip) keyOf(at netip.AddrPort) vipKey {
	k := vipKey{addr: at.Addr(), port: at.Port()}
	if k.port != 0 {
		k.protocol = v.of.protocol
	}
	return k
}

func newVIPIndex(vips []*vip) *vipIndex {
	x := &vipIndex{literal: map[vipKey][]*vip{}}
	for _, v := range vips {
		if v.of.template && strings.Contains(v.key, "^") {
			x.variables = append(x.variables, v)
			continue
		}
		if at, err := readVIP(v.key); err == nil {
			k := v.keyOf(at)
			x.literal[k] = append(x.literal[k], v)
		}
	}
	return x
}

// find lists the entries for a packet on a chassis: those of its port, otherwise those of every port.
func (d datapath) find(p *Packet, vars map[string]string) []*vip {
	addr := p.Dst.Unmap().WithZone("")
	for _, k := range []vipKey{{addr, p.DstPort, p.Protocol}, {addr: addr}} {
		var found []*vip
		for _, x := range d {
			found = append(found, x.literal[k]...)
			for _, v := range x.variables {
				if at, err := v.where(vars); err == nil && v.keyOf(at) == k {
					found = append(found, v)
				}
			}
		}
		slices.SortFunc(found, func(a, b *vip) int { return strings.Compare(a.of.row.UUID, b.of.row.UUID) })
		if found = slices.Compact(found); len(found) > 0 {
			return found
		}
	}
	return nil
}
