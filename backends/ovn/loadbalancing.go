package ovn

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/lb"
)

// LoadBalancing determines where load balancers are put. The zero value means the defaults of the settings.
type LoadBalancing struct {
	// Group is the name of the Load_Balancer_Group that holds them, and the prefix of the names of further ones; "" is
	// the owner.
	Group string
	// Switches and Routers are those that load balancers are put on, see lb.ParseSelection. "" is DefaultSwitches, and
	// no router.
	Switches, Routers string
	// Networks are the logical networks, comma-separated, that Services may name besides the default one. AllNetworks allows every network,
	// but then anyone who may write a Service can reach any of them; "" means none.
	Networks string
	// NodeSwitch and NodeRouter are the names of a node's own switch and router, containing {node}, for databases without
	// template variables. "" is DefaultNodeSwitch and DefaultNodeRouter.
	NodeSwitch, NodeRouter string
	// Hairpin is an address of each family, separated by a space, that replaces the client's if the client is the
	// backend itself. "" is DefaultHairpin.
	Hairpin string
	// Affinity is how clients stay with a backend if a Service requires it; "" is AffinityTimeout.
	Affinity string
}

// AllNetworks allows Services to name any logical network.
const AllNetworks = lb.AllNetworks

// The ways in which a client stays with a backend. OVN remembers clients for a time, and drops the first packet of each
// that it remembers; or it uses the hash of the client's address, and some clients move when backends change.
const (
	AffinityTimeout = "timeout"
	AffinityHash    = "hash"
)

// checkAffinity checks a way to stay with a backend.
func checkAffinity(s string) error {
	if s != AffinityTimeout && s != AffinityHash {
		return fmt.Errorf("%q: expected %s or %s", s, AffinityTimeout, AffinityHash)
	}
	return nil
}

// The defaults. The addresses are those that other OVN controllers use.
const (
	DefaultSwitches   = "*"
	DefaultNodeSwitch = "{node}"
	DefaultNodeRouter = "GR_{node}"
	DefaultHairpin    = "169.254.169.5 fd69::5"
)

var groupPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// parse checks l and reports every fault.
func (l LoadBalancing) parse(owner string) (lb.Settings, error) {
	affinity := cmp.Or(l.Affinity, AffinityTimeout)
	out := lb.Settings{
		Group:        cmp.Or(l.Group, owner),
		NodeSwitch:   cmp.Or(l.NodeSwitch, DefaultNodeSwitch),
		NodeRouter:   cmp.Or(l.NodeRouter, DefaultNodeRouter),
		HashAffinity: affinity == AffinityHash,
	}
	var errs []error
	check := func(what string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
	}
	check("load balancer group", checkGroup(out.Group))
	check("node switch", checkNodeName(out.NodeSwitch))
	check("node router", checkNodeName(out.NodeRouter))
	check("affinity", checkAffinity(affinity))
	var err error
	out.Switches, err = lb.ParseSelection(cmp.Or(l.Switches, DefaultSwitches))
	check("switches", err)
	out.Routers, err = lb.ParseSelection(l.Routers)
	check("routers", err)
	out.Hairpin, err = parseHairpin(cmp.Or(l.Hairpin, DefaultHairpin))
	check("hairpin addresses", err)
	out.Networks, err = lb.ParseNetworks(l.Networks)
	check("networks", err)
	return out, errors.Join(errs...)
}

// checkGroup checks the name of a load balancer group.
func checkGroup(name string) error {
	if !groupPattern.MatchString(name) {
		return fmt.Errorf("%q: expected 1 to 64 letters, digits, dots, dashes and underscores", name)
	}
	return nil
}

// checkNodeName checks the name of the switches or routers of nodes.
func checkNodeName(name string) error {
	if !strings.Contains(name, lb.NodePlaceholder) {
		return fmt.Errorf("%q: expected a name with %s in it", name, lb.NodePlaceholder)
	}
	return nil
}

// parseHairpin parses an IPv4 and an IPv6 address separated by a space, as in Load_Balancer.options:hairpin_snat_ip.
func parseHairpin(s string) ([2]netip.Addr, error) {
	fault := fmt.Errorf("%q: expected an IPv4 and an IPv6 address with a space between", s)
	parts := strings.Fields(s)
	if len(parts) != 2 {
		return [2]netip.Addr{}, fault
	}
	v4, err4 := netip.ParseAddr(parts[0])
	v6, err6 := netip.ParseAddr(parts[1])
	if err4 != nil || err6 != nil || !v4.Is4() || !v6.Is6() || v6.Is4In6() || v6.Zone() != "" || v4.IsUnspecified() || v6.IsUnspecified() {
		return [2]netip.Addr{}, fault
	}
	return [2]netip.Addr{v4, v6}, nil
}
