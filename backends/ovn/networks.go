package ovn

import (
	"fmt"
	"strings"
)

// AllNetworks lets Services name any logical network.
const AllNetworks = "*"

// networks are the logical networks, besides the default one, that load balancers may be in. The zero value is none.
type networks struct {
	all   bool
	named map[string]bool
}

// parseNetworks reads names with commas between, or AllNetworks.
func parseNetworks(s string) (networks, error) {
	n := networks{all: strings.TrimSpace(s) == AllNetworks, named: map[string]bool{}}
	if n.all || strings.TrimSpace(s) == "" {
		return n, nil
	}
	for entry := range strings.SplitSeq(s, ",") {
		name := strings.TrimSpace(entry)
		if name == "" || strings.ContainsAny(name, "*? =!") {
			return networks{}, fmt.Errorf("%q: expected the name of a logical network, or %s alone for all", entry, AllNetworks)
		}
		n.named[name] = true
	}
	return n, nil
}

// CheckNetworks says what is wrong with a list of logical networks.
func CheckNetworks(s string) error {
	_, err := parseNetworks(s)
	return err
}

// allow says whether load balancers may be in a network.
func (n networks) allow(network string) bool { return network == "" || n.all || n.named[network] }
