package intent

import (
	"net/netip"
	"strings"
)

// Scope names the CNFs that an intent is for: those of one purpose in one namespace. The zero value names none.
type Scope struct {
	Namespace string // "" with a purpose means every namespace
	Purpose   string
}

// String renders s as namespace/purpose.
func (s Scope) String() string { return s.Namespace + "/" + s.Purpose }

// Compare orders scopes by namespace and purpose.
func (s Scope) Compare(o Scope) int {
	if c := strings.Compare(s.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(s.Purpose, o.Purpose)
}

// CNFID names a CNF: its endpoint's key as text.
type CNFID string

// CNF is a containerized network function: a pod that runs OpenWRT. All CNFs of a scope are configured alike.
type CNF struct {
	ID     CNFID
	Origin Origin
	Scope  Scope
	// Group is the workload whose replica it is, such as Deployment/cnf. The CNFs of a scope must have one group.
	Group string
	Node  string     // where it runs; "" if unknown
	Addr  netip.Addr // of its REST API; invalid while it has none
	// Ready means that it may be configured now. The configuration of a CNF that is not ready is not known.
	Ready bool
	// Leaving means that it is being deleted permanently: nothing waits for it.
	Leaving bool
	// Run differs between two starts of the function, which may have forgotten everything in between.
	Run string
	// Networks maps the names of networks to the CNF's interfaces in them. It is read-only.
	Networks map[string]string
	// Account and Certificate name Secrets in Origin.Namespace: one holds the password under "password", the other the CA of
	// the CNF's certificate under "ca.crt". "" means none.
	Account, Certificate string
	// Conflict is why nothing may be written to it, for display; "" if it may.
	Conflict string
}

// Target is the name of the CNF's target: openwrt, and the namespace and the name of the pod.
func (g *CNF) Target() string { return "openwrt/" + g.Origin.Namespace + "/" + g.Origin.Name }

// Writable reports whether g may be configured now.
func (g *CNF) Writable() bool {
	return g.Ready && !g.Leaving && g.Conflict == "" && g.Addr.IsValid()
}

// Link refers to an interface of a CNF. The zero value is unset; at most one field is set.
type Link struct {
	Name    string     // of the interface
	Default bool       // that of the default route
	Addr    netip.Addr // the one that has this address
	Source  bool       // the one that has the new source address of a NAT
}
