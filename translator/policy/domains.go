package policy

import (
	"slices"
	"strings"

	"sigs.k8s.io/network-policy-api/apis/v1alpha2"

	"github.com/netloom/netloom/translator/budget"
)

// HostChanged causes the policies that contain a DNS name to be translated again: it resolves now or no longer, or its cost has changed.
// Their sets follow its addresses without this.
func (t *Table) HostChanged(name string) {
	for ref := range t.withHost[name] {
		t.markDirty(ref)
	}
}

// domainPeer returns the DNS names of a peer. A name without an answer matches nothing, and neither does a wildcard, because DNS cannot
// list the names below a domain. Answers beyond the budget close the policy.
func (p *clusterPolicy) domainPeer(path string, names []v1alpha2.DomainName) []string {
	var out []string
	for _, text := range names {
		name := strings.ToLower(strings.TrimSuffix(string(text), "."))
		if strings.HasPrefix(name, "*") {
			p.Add(path+".domainNames", "%q: wildcards cannot be looked up; it matches nothing", text)
			continue
		}
		if !slices.Contains(p.out.hosts, name) {
			p.out.hosts = append(p.out.hosts, name)
		}
		if !p.account.Spend(budget.Prefixes, p.hosts.Cost(name)) {
			return nil
		}
		switch addrs, known := p.hosts.Addrs(name); {
		case !known:
			p.Add(path+".domainNames", "%s has not been looked up yet; it matches nothing", name)
		case len(addrs) == 0:
			p.Add(path+".domainNames", "%s does not resolve to an address; it matches nothing", name)
		}
		out = append(out, name)
	}
	return out
}
