package tungsten

import (
	"encoding/hex"
	"net/http"
	"net/netip"
	"strings"
)

// completeNetwork fills in the subnets of a virtual network: the two highest addresses of each are the gateway and the name server.
func (db *database) completeNetwork(o *object) *refusal {
	all := &addresses{taken: make(map[netip.Addr]bool)}
	for _, attr := range o.refs["network-ipam"] {
		given, _ := attr.(dict)
		sent, _ := given.get("ipam_subnets")
		list, _ := sent.([]any)
		for i, e := range list {
			ipam, _ := e.(dict)
			inner, _ := ipam.get("subnet")
			prefix, _ := inner.(dict)
			length, _ := prefix.get("ip_prefix_len")
			p, err := netip.ParsePrefix(prefix.text("ip_prefix") + "/" + plain(length))
			if err != nil {
				return refuse(http.StatusBadRequest, "Invalid subnet")
			}
			gateway := last(p).Prev()
			server := gateway.Prev()
			all.taken[last(p)], all.taken[gateway], all.taken[server] = true, true, true
			s := &addressSubnet{prefix: p.Masked(), uuid: newUUID(), next: server.Prev()}
			all.subnets = append(all.subnets, s)
			ipam.set("subnet_uuid", s.uuid)
			ipam.set("default_gateway", gateway.String())
			ipam.set("dns_server_address", server.String())
			list[i] = ipam
		}
	}
	db.addrs[o.uuid] = all
	return nil
}

// completeInterface gives an interface its MAC address and the routing instance of its network.
func (db *database) completeInterface(o *object) *refusal {
	networks := o.targets("virtual-network")
	if len(networks) == 0 {
		return crash("KeyError: 'virtual_network_refs'")
	}
	if o.props["virtual_machine_interface_mac_addresses"] == nil {
		raw, _ := hex.DecodeString(strings.ReplaceAll(o.uuid, "-", "")[:10]) // a UUID is hexadecimal
		mac := "02"
		for _, b := range raw {
			mac += ":" + hex.EncodeToString([]byte{b})
		}
		o.props["virtual_machine_interface_mac_addresses"] = dict{{"mac_address", []any{mac}}}
	}
	if _, ok := o.props["port_security_enabled"]; !ok {
		o.props["port_security_enabled"] = true
	}
	o.refs["routing-instance"] = make(map[string]any)
	for _, uuid := range networks {
		network := db.byUUID[uuid]
		for _, ri := range network.children["routing-instance"] {
			attr := dict{{"direction", "both"}}
			for _, name := range []string{
				"vlan_tag", "src_mac", "dst_mac", "mpls_label", "service_chain_address", "ipv6_service_chain_address", "protocol",
			} {
				attr = append(attr, member{name, nil})
			}
			o.refs["routing-instance"][ri.uuid] = attr
		}
	}
	return nil
}

// assignAddress gives an object the address that it asks for, or the next one of the first network with a free one.
func (db *database) assignAddress(o *object, field string, networks []string) *refusal {
	if len(networks) == 0 {
		return nil
	}
	want, _ := netip.ParseAddr(o.text(field)) // an invalid one asks for any
	network := db.byUUID[networks[0]]
	addr, subnet, free := db.addrs[network.uuid].take(want)
	switch {
	case !addr.IsValid():
		return refuse(http.StatusBadRequest, "Virtual-Network(%s) has exhausted subnet([])", repr(network.fqName))
	case !free:
		return refuse(http.StatusConflict, "IP address already in use")
	}
	o.props[field] = addr.String()
	if o.kind.name == "instance-ip" {
		o.props["subnet_uuid"] = subnet
	}
	return nil
}

// releaseAddress frees the address of a deleted object.
func (db *database) releaseAddress(o *object) {
	networks := o.targets("virtual-network")
	field := "instance_ip_address"
	if o.kind.name == "floating-ip" {
		field = "floating_ip_address"
		if o.parent.kind.name != "floating-ip-pool" {
			return
		}
		networks = []string{o.parent.parent.uuid}
	}
	addr, err := netip.ParseAddr(o.text(field))
	if err != nil || len(networks) == 0 || db.addrs[networks[0]] == nil {
		return
	}
	delete(db.addrs[networks[0]].taken, addr)
}
