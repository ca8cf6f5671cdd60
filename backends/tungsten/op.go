package tungsten

import (
	"net/netip"
	"slices"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/tungsten"
)

// phase is when an op is written. Between two writes the target is judged by packets, so each phase may only open or only close.
type phase int

const (
	createBase phase = iota // tags without which nothing is enforced, before IDs run out
	createTag               // what nothing refers to yet
	createGroup
	growVIPs // nothing is at an address yet
	createRule
	createPolicy
	fillPolicy
	createSet
	addUnused    // tags that no rule refers to yet
	addAllow     // opens
	removeAllow  // closes
	addDeny      // closes
	removeDeny   // opens
	addEgress    // closes: the policy set of egress applies to an interface
	addCover     // closes; policy sets of others cease to apply
	removeCover  // opens
	removeEgress // opens
	tightenOrder // closes
	replaceOrder // opens after tightenOrder; by itself it replaces a list at once
	joinMember   // of load balancers: a backend more
	deleteMember // one less, and so on up to the address
	deletePool
	deleteListener
	deleteBalancer
	deleteAddress
	deleteVIP
	createVIP
	createAddress
	createBalancer
	createListener
	createPool
	createMember
	removeUnused // tags that no rule refers to any more
	deleteSet
	deletePolicy
	deleteRule
	shrinkVIPs // nothing is at an address any more
	deleteGroup
	deleteTag
)

// cleans reports whether writes of a phase only remove what nothing uses any more.
func (p phase) cleans() bool { return p >= removeUnused }

// closes and opens report whether writes of a phase do so to connections.
func (p phase) closes() bool {
	return p == removeAllow || p == addDeny || p == addEgress || p == addCover || p == tightenOrder
}

func (p phase) opens() bool {
	return p == addAllow || p == removeDeny || p == removeCover || p == removeEgress || p == replaceOrder || p >= joinMember && p < removeUnused
}

// balancing is the order in which load balancers change: a VIP whose ports change has no backends for a moment.
func balancing() []phase {
	return []phase{
		joinMember, deleteMember, deletePool, deleteListener, deleteBalancer, deleteAddress, deleteVIP,
		createVIP, createAddress, createBalancer, createListener, createPool, createMember,
	}
}

// openFirst is the order of phases in which nothing is dropped that both states allow. It opens nothing that both states deny as
// long as no connection is opened in one direction and closed in the other.
func openFirst() []phase {
	return []phase{
		createBase, createTag, createGroup, growVIPs, createRule, createPolicy, fillPolicy, createSet, addUnused,
		addAllow, addDeny, addEgress, addCover, replaceOrder, removeCover, removeEgress, removeDeny, removeAllow,
		removeUnused, deleteSet, deletePolicy, deleteRule, shrinkVIPs, deleteGroup, deleteTag,
	}
}

// closeFirst is the order in which nothing is ever opened that both states deny: first everything that closes, then everything
// that opens. In between, connections may be dropped that both states allow by different rules. Load balancers change in between, so
// that no backend gets connections by rules of a state in which it is none.
func closeFirst() []phase {
	return slices.Concat(
		[]phase{
			createBase, createTag, createGroup, growVIPs, createRule, createPolicy, fillPolicy, createSet, addUnused,
			addDeny, addEgress, addCover, tightenOrder, removeAllow,
		},
		balancing(),
		[]phase{
			addAllow, replaceOrder, removeDeny, removeCover, removeEgress,
			removeUnused, deleteSet, deletePolicy, deleteRule, shrinkVIPs, deleteGroup, deleteTag,
		},
	)
}

// creation is the phase in which objects of a kind are created and repaired.
func creation(kind tungsten.Kind) phase {
	return map[tungsten.Kind]phase{
		tungsten.KindTag: createTag, tungsten.KindAddressGroup: createGroup, tungsten.KindFirewallRule: createRule,
		tungsten.KindFirewallPolicy: createPolicy, tungsten.KindApplicationPolicySet: createSet,
		tungsten.KindInterface: createVIP, tungsten.KindInstanceIP: createAddress, tungsten.KindLoadBalancer: createBalancer,
		tungsten.KindListener: createListener, tungsten.KindPool: createPool, tungsten.KindMember: createMember,
	}[kind]
}

// deletion is the phase in which objects of a kind are deleted.
func deletion(kind tungsten.Kind) phase {
	return map[tungsten.Kind]phase{
		tungsten.KindTag: deleteTag, tungsten.KindAddressGroup: deleteGroup, tungsten.KindFirewallRule: deleteRule,
		tungsten.KindFirewallPolicy: deletePolicy, tungsten.KindApplicationPolicySet: deleteSet,
		tungsten.KindInterface: deleteVIP, tungsten.KindInstanceIP: deleteAddress, tungsten.KindLoadBalancer: deleteBalancer,
		tungsten.KindListener: deleteListener, tungsten.KindPool: deletePool, tungsten.KindMember: deleteMember,
	}[kind]
}

// write is one request. Exactly one of its fields is set.
type write struct {
	create *tungsten.Object
	update *update
	delete *tungsten.Object
	add    *tungsten.Link
	remove *tungsten.Link
	vip    netip.Addr // of an object of a load balancer
	phase  phase
	probe  bool // it is known that it was refused before
}

// key identifies what a request changes.
func (w *write) key() string {
	switch {
	case w.create != nil:
		return "create " + w.create.UUID
	case w.update != nil:
		return "update " + w.update.uuid
	case w.delete != nil:
		return "delete " + w.delete.UUID
	case w.add != nil:
		return "add " + w.add.UUID + " " + w.add.Target
	case w.remove != nil:
		return "remove " + w.remove.UUID + " " + w.remove.Target
	default:
		return ""
	}
}

// changes identifies what must not be changed by two requests at once: an object, or everything for a VIP.
func (w *write) changes() string {
	switch {
	case w.vip.IsValid():
		return w.vip.String()
	case w.create != nil:
		return w.create.UUID
	case w.update != nil:
		return w.update.uuid
	case w.delete != nil:
		return w.delete.UUID
	case w.add != nil:
		return w.add.UUID
	case w.remove != nil:
		return w.remove.UUID
	default:
		return ""
	}
}

type update struct {
	kind   tungsten.Kind
	uuid   string
	fields tungsten.Fields
}

// planned is an op with its phase.
type planned struct {
	phase phase
	op    backends.Op
}

// shown returns fields for display.
func shown(f tungsten.Fields) backends.Fields {
	out := backends.Fields{}
	for name, raw := range f {
		out[name] = string(raw)
	}
	return out
}

func originOf(o *tungsten.Object) string {
	if of := o.Annotations.Get(annotationOrigin); of != "" {
		return of
	}
	return o.Annotations.Get(annotationFor)
}

// createOf creates an object.
func createOf(p phase, o *tungsten.Object) (planned, error) {
	fields, err := tungsten.Diff(&tungsten.Object{Kind: o.Kind}, o)
	return planned{p, backends.Op{
		Verb: backends.Create, Kind: string(o.Kind), Name: o.Name(), After: shown(fields), Origin: originOf(o), Native: write{create: o},
	}}, err
}

// deleteOf deletes an object.
func deleteOf(p phase, o *tungsten.Object) planned {
	return planned{p, backends.Op{
		Verb: backends.Delete, Kind: string(o.Kind), Name: o.Name(), Before: backends.Fields{"uuid": o.UUID}, Origin: originOf(o),
		Native: write{delete: o},
	}}
}

// updateOf rewrites the fields in which two states of an object differ; false if there are none.
func updateOf(p phase, have, want *tungsten.Object) (planned, bool, error) {
	after, err := tungsten.Diff(have, want)
	if err != nil || len(after) == 0 {
		return planned{}, false, err
	}
	before, err := tungsten.Diff(want, have)
	return planned{p, backends.Op{
		Verb: backends.Update, Kind: string(want.Kind), Name: want.Name(), Before: shown(before), After: shown(after),
		Origin: originOf(want), Native: write{update: &update{want.Kind, have.UUID, after}},
	}}, true, err
}

// linkOf adds or removes one reference of an object, and displays it by the name of what it refers to.
func linkOf(p phase, from *tungsten.Object, l tungsten.Link, shownAs, origin string, add bool) planned {
	op := backends.Op{Verb: backends.Mutate, Kind: string(from.Kind), Name: from.Name(), Origin: origin}
	fields := backends.Fields{l.To.RefField(): []string{shownAs}}
	if add {
		op.After, op.Native = fields, write{add: &l}
	} else {
		op.Before, op.Native = fields, write{remove: &l}
	}
	return planned{p, op}
}
