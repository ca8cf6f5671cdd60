package tungsten

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// balancedName begins the names of the floating IPs that belong to load balancers.
const balancedName = "svc-monitor__"

// affectsBalancers reports whether changes may require other floating IPs.
func affectsBalancers(changes []change) bool {
	return slices.ContainsFunc(changes, func(c change) bool {
		return strings.HasPrefix(c.kind.name, "loadbalancer") || c.kind.name == "instance-ip" || c.kind.name == "virtual-machine-interface"
	})
}

// balance does what svc-monitor does for native load balancers: an instance IP of the interface of one gets a floating IP that
// refers to the interfaces of all members of all its pools, with a port mapping for each listener. There is only one mapping for a
// port, so the port of the first member counts.
func (db *database) balance() {
	wanted := map[string]bool{} // UUIDs of instance IPs
	for _, lb := range db.list(db.kinds["loadbalancer"]) {
		if lb.text("loadbalancer_provider") != "native" {
			continue
		}
		for _, vip := range lb.targets("virtual-machine-interface") {
			if vmi := db.byUUID[vip]; vmi != nil {
				for id, address := range vmi.backRefs["instance-ip"] {
					wanted[id] = true
					db.balanceAt(address, lb)
				}
			}
		}
	}
	for _, fip := range slices.Clone(db.list(db.kinds["floating-ip"])) {
		if strings.HasPrefix(fip.name(), balancedName) && !wanted[fip.parent.uuid] {
			db.delete(fip)
		}
	}
}

// balanceAt makes the floating IP of a load balancer at an instance IP.
func (db *database) balanceAt(address, lb *object) {
	refs, mappings := db.translation(lb)
	name := balancedName + address.uuid
	fip := db.find("floating-ip", append(slices.Clone(address.fqName), name))
	if fip == nil {
		fip = db.make("floating-ip", address, name)
	}
	translation := dict{{"port_mappings", mappings}}
	if repr(fip.props["floating_ip_port_mappings"]) == repr(translation) &&
		slices.Equal(fip.targets("virtual-machine-interface"), slices.Sorted(maps.Keys(refs))) {
		return
	}
	fip.props["floating_ip_address"] = address.text("instance_ip_address")
	fip.props["floating_ip_port_mappings_enable"] = true
	fip.props["floating_ip_port_mappings"] = translation
	fip.props["floating_ip_traffic_direction"] = "ingress"
	db.setRefs(fip, "virtual-machine-interface", refs)
	db.touch(fip)
}

// translation returns the interfaces of all members of a load balancer, as references, and its port mappings.
func (db *database) translation(lb *object) (refs map[string]any, mappings []any) {
	refs, mapped := map[string]any{}, map[string]bool{}
	for _, listener := range referring(lb, "loadbalancer-listener") {
		props := listener.dict("loadbalancer_listener_properties")
		protocol := "TCP"
		if props.text("protocol") == "UDP" {
			protocol = "UDP"
		}
		port, _ := props.get("protocol_port")
		for _, pool := range referring(listener, "loadbalancer-pool") {
			for _, m := range sorted(slices.Collect(maps.Values(pool.children["loadbalancer-member"]))) {
				note, _ := m.lists["annotations"]["vmi"].(dict)
				if vmi := db.byUUID[note.text("value")]; vmi == nil || vmi.kind.name != "virtual-machine-interface" {
					continue
				}
				refs[note.text("value")] = nil
				if at := protocol + plain(port); !mapped[at] {
					mapped[at] = true
					target, _ := m.dict("loadbalancer_member_properties").get("protocol_port")
					mappings = append(mappings, dict{{"protocol", protocol}, {"src_port", port}, {"dst_port", target}})
				}
			}
		}
	}
	return refs, mappings
}

// referring lists the objects of a kind that refer to o, by name.
func referring(o *object, kind string) []*object {
	return slices.SortedFunc(maps.Values(o.backRefs[kind]), func(a, b *object) int { return cmp.Compare(a.order(), b.order()) })
}
