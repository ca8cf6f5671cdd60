package lb

import (
	"fmt"
	"strings"
)

// AllNetworks allows Services to name any logical network.
const AllNetworks = "*"

// Networks are the logical networks, besides the default one, that load balancers may be in. The zero value is none.
type Networks struct {
	all   bool
	named map[string]bool
}

// ParseNetworks parses comma-separated names, or AllNetworks.
func ParseNetworks(s string) (Networks, error) {
	n := Networks{all: strings.TrimSpace(s) == AllNetworks, named: map[string]bool{}}
	if n.all || strings.TrimSpace(s) == "" {
		return n, nil
	}
	for entry := range strings.SplitSeq(s, ",") {
		name := strings.TrimSpace(entry)
		if name == "" || strings.ContainsAny(name, "*? =!") {
			return Networks{}, fmt.Errorf("%q: expected the name of a logical network, or %s alone for all", entry, AllNetworks)
		}
		n.named[name] = true
	}
	return n, nil
}

// allow reports whether load balancers may be in a network.
func (n Networks) allow(network string) bool { return network == "" || n.all || n.named[network] }
