package daemon_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// roundsOf lists how many operations the last rounds of changes had, oldest first. Those that read back everything, as at the start and after a
// write that was given up, have no bound.
func (r *running) roundsOf() []int {
	r.t.Helper()
	_, body := r.get("/debug/rounds")
	var out []int
	for _, m := range regexp.MustCompile(`(?m)^ovn +[0-9:.]+ +\d+ +(\d+)`).FindAllStringSubmatch(body, -1) {
		n, err := strconv.Atoi(m[1])
		require.NoError(r.t, err)
		out = append(out, n)
	}
	return out
}

// clusterFlood is a file with many cluster-wide policies for all pods, each with four rules.
func clusterFlood() string {
	const policies, rules = 600, 4
	var b strings.Builder
	for i := range policies {
		fmt.Fprintf(&b, "---\napiVersion: policy.networking.k8s.io/v1alpha2\nkind: ClusterNetworkPolicy\nmetadata: {name: p%04d}\n", i)
		fmt.Fprintf(&b, "spec:\n  tier: Admin\n  priority: %d\n  subject: {namespaces: {}}\n  ingress:\n", i*7%1000)
		for k := i * rules; k < (i+1)*rules; k++ {
			fmt.Fprintf(&b, "  - action: Deny\n    from: [{namespaces: {matchLabels: {t: x%d}}}]\n    protocols: [{tcp: {destinationPort: {number: %d}}}]\n", k, 1000+k)
		}
	}
	return b.String()
}

// serviceFlood is a file with many Services of ten ports, and one of which every port has thousands of endpoints.
func serviceFlood() string {
	const services, ports, slices, endpoints = 2030, 10, 10, 300
	var b strings.Builder
	service := func(name, address string, list []string) {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\n", name)
		fmt.Fprintf(&b, "spec: {clusterIP: %s, clusterIPs: [%s], ports: [%s]}\n", address, address, strings.Join(list, ", "))
	}
	var named, numbers []string
	for k := range ports {
		named = append(named, fmt.Sprintf("{name: p%d, port: %d}", k, 8000+k))
		numbers = append(numbers, fmt.Sprintf("{name: p%d, port: %d, protocol: TCP}", k, 9000+k))
	}
	for i := range services {
		service(fmt.Sprintf("s%04d", i), fmt.Sprintf("10.96.%d.%d", 1+i/200, 1+i%200), named)
	}
	service("large", "10.96.0.10", named)
	for i := range slices {
		fmt.Fprintf(&b, "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n")
		fmt.Fprintf(&b, "metadata: {name: large-%d, namespace: shop, labels: {kubernetes.io/service-name: large}}\nports: [%s]\nendpoints:\n", i, strings.Join(numbers, ", "))
		for k := range endpoints {
			fmt.Fprintf(&b, "- {addresses: [10.%d.%d.%d], conditions: {ready: true}}\n", 100+i, k/200, 1+k%200)
		}
	}
	return b.String()
}

// TestFloodsComeInRounds has many cluster-wide policies and Services come and go at once. No round has more than 2,000 operations.
func TestFloodsComeInRounds(t *testing.T) {
	const most = 2000
	for _, tc := range []struct{ name, flood string }{
		{"cluster-wide policies", clusterFlood()},
		{"Services", serviceFlood()},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := newPlace(t)
			r := startReady(t, p.options())
			settled := func() bool { return r.metric("netloom_oldest_unenforced_change_seconds") == 0 }
			before, began, came := p.rows(), len(r.roundsOf()), map[string]int{}
			seen := began
			for _, step := range []struct {
				name   string
				change func()
			}{
				{"they come", func() { p.write(t, "flood.yaml", tc.flood) }},
				{"they go", func() { p.remove(t, "flood.yaml") }},
			} {
				r.edit(step.change)
				r.await(step.name, settled)
				rounds := r.roundsOf()[seen:]
				seen += len(rounds)
				for _, n := range rounds {
					require.LessOrEqual(t, n, most, "%s: %v", step.name, rounds)
				}
				came[step.name] = strings.Count(p.server.Dump("ACL", "Load_Balancer"), "\n")
			}
			require.Greater(t, seen, began, "there were rounds")
			require.Greater(t, came["they come"]-came["they go"], most)
			require.Equal(t, before, p.rows())
		})
	}
}
