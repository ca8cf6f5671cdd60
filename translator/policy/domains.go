package policy

import (
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

// HostChanged has the policies that name a DNS name translated again.
func (t *Table) HostChanged(name string) {
	for ref := range t.withHost[name] {
		t.markDirty(ref)
	}
}

// domainPeer returns the addresses of DNS names. What DNS does not answer matches nothing, and neither does a wildcard, since DNS
// cannot list the names below a domain.
func (p *clusterPolicy) domainPeer(path string, names []v1alpha2.DomainName) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range names {
		name := strings.ToLower(strings.TrimSuffix(string(text), "."))
		if strings.HasPrefix(name, "*") {
			p.Add(path+".domainNames", "%q: wildcards cannot be looked up; it matches nothing", text)
			continue
		}
		if !slices.Contains(p.out.hosts, name) {
			p.out.hosts = append(p.out.hosts, name)
		}
		addrs, known := p.hosts.Addrs(name)
		switch {
		case !known:
			p.Add(path+".domainNames", "%s has not been looked up yet; it matches nothing", name)
		case len(addrs) == 0:
			p.Add(path+".domainNames", "%s does not resolve to an address; it matches nothing", name)
		}
		for _, a := range addrs {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}
