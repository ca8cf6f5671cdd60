package lint

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/object/address"
)

// The shortest prefixes that are taken for those of Services: wider ones are usually meant for something else. Service networks
// are at most a /12 and a /108.
const (
	serviceBitsIPv4 = 12
	serviceBitsIPv6 = 96
)

// serviceAddresses finds ipBlocks with the cluster IP of a Service and without the address of a pod.
func (r *run) serviceAddresses() {
	owner := map[netip.Addr]string{}
	var services, pods []netip.Addr
	for _, s := range r.Services {
		for _, a := range clusterIPs(s) {
			if r.MadeUp != nil && r.MadeUp(a) {
				continue
			}
			name := s.Namespace + "/" + s.Name
			if old, taken := owner[a]; !taken {
				services = append(services, a)
			} else if old < name {
				continue
			}
			owner[a] = name
		}
	}
	for e := range r.View.Endpoints() {
		for _, a := range e.AllAddrs() {
			if r.MadeUp == nil || !r.MadeUp(a) {
				pods = append(pods, a)
			}
		}
	}
	slices.SortFunc(services, netip.Addr.Compare)
	slices.SortFunc(pods, netip.Addr.Compare)
	for _, np := range r.Policies {
		ref := object.Ref{Kind: object.KindNetworkPolicy, Namespace: np.Namespace, Name: np.Name}
		eachBlock(np, func(field string, cidr netip.Prefix, excepts []netip.Prefix) {
			if cidr.Addr().Is4() && cidr.Bits() < serviceBitsIPv4 || cidr.Addr().Is6() && cidr.Bits() < serviceBitsIPv6 {
				return
			}
			a, found := firstIn(services, cidr, excepts)
			if _, hasPods := firstIn(pods, cidr, excepts); !found || hasPods {
				return
			}
			r.add(newFinding(ClusterIPBlock, ref, field+".cidr", fmt.Sprintf(
				"%s contains %s, the cluster IP of Service %s, and no pod: policies apply to the pods behind it", cidr, a, owner[a])))
		})
	}
}

// clusterIPs lists the cluster IPs of a Service.
func clusterIPs(s *corev1.Service) []netip.Addr {
	var out []netip.Addr
	for _, text := range append(slices.Clone(s.Spec.ClusterIPs), s.Spec.ClusterIP) {
		if a, err := address.Parse(text); err == nil && !slices.Contains(out, a.Unmap()) {
			out = append(out, a.Unmap())
		}
	}
	return out
}

// firstIn finds the first of sorted addresses in a prefix and in none of its excepts. It looks at few more than there are excepts.
func firstIn(sorted []netip.Addr, p netip.Prefix, excepts []netip.Prefix) (netip.Addr, bool) {
	i, _ := slices.BinarySearchFunc(sorted, p.Addr(), netip.Addr.Compare)
next:
	for i < len(sorted) && p.Contains(sorted[i]) {
		for _, e := range excepts {
			if e.Contains(sorted[i]) {
				i += skipped(sorted[i:], e)
				continue next
			}
		}
		return sorted[i], true
	}
	return netip.Addr{}, false
}

// skipped is how many of sorted addresses, the first of which is in a prefix, are in it.
func skipped(sorted []netip.Addr, e netip.Prefix) int {
	n, _ := slices.BinarySearchFunc(sorted, e, func(a netip.Addr, e netip.Prefix) int {
		if e.Contains(a) {
			return -1
		}
		return 1
	})
	return n
}
