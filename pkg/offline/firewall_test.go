package offline_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// firewallRule is a rule as the documentation of ovn-kubernetes has it: the first that matches decides, and without one a connection passes.
type firewallRule struct {
	allow bool
	cidr  netip.Prefix
	port  uint16 // of TCP; 0 is every port
}

// passes is that documentation in code.
func passes(rules []firewallRule, to netip.Addr, port uint16) bool {
	for _, r := range rules {
		if r.cidr.Contains(to) && (r.port == 0 || r.port == port) {
			return r.allow
		}
	}
	return true
}

// TestFirewallsDecideAsDocumented compares random EgressFirewalls with their documentation, beside a NetworkPolicy that allows one port.
func TestFirewallsDecideAsDocumented(t *testing.T) {
	const pods = `apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
status: {podIP: 10.0.0.1}
---
apiVersion: v1
kind: Pod
metadata: {name: other, namespace: other}
status: {podIP: 10.0.0.2}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: shop}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 80}, {port: 443}]}]}
---
`
	blocks := []string{"0.0.0.0/0", "203.0.113.0/24", "203.0.113.128/25", "198.51.100.7/32", "10.0.0.0/8"}
	outside := []string{"203.0.113.1", "203.0.113.200", "198.51.100.7", "192.0.2.1", "10.9.9.9"}
	seeds.Each(t, "firewalls", func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		var rules []firewallRule
		var text strings.Builder
		for range 1 + random.IntN(5) {
			r := firewallRule{allow: random.IntN(2) == 0, cidr: netip.MustParsePrefix(blocks[random.IntN(len(blocks))])}
			kind, ports := "Deny", ""
			if r.allow {
				kind = "Allow"
			}
			if random.IntN(2) == 0 {
				r.port = []uint16{80, 443}[random.IntN(2)]
				ports = fmt.Sprintf(", ports: [{protocol: TCP, port: %d}]", r.port)
			}
			rules = append(rules, r)
			fmt.Fprintf(&text, "  - {type: %s, to: {cidrSelector: %s}%s}\n", kind, r.cidr, ports)
		}
		file := filepath.Join(t.TempDir(), "all.yaml")
		require.NoError(t, os.WriteFile(file, []byte(pods+"apiVersion: k8s.ovn.org/v1\nkind: EgressFirewall\n"+
			"metadata: {name: default, namespace: shop}\nspec:\n  egress:\n"+text.String()), 0o600))
		state, err := offline.Load(offline.Manifests{Paths: []string{file}, Translator: translator.Options{Firewalls: true}})
		require.NoError(t, err)
		require.Empty(t, state.Problems)
		require.Empty(t, state.Doubts())
		verdict := func(from, name, to string, port uint16) bool {
			src := intent.Party{Key: object.Key{Namespace: from, Name: name}, Addr: netip.MustParseAddr(map[string]string{"shop": "10.0.0.1", "other": "10.0.0.2"}[from])}
			dst := intent.Party{Addr: netip.MustParseAddr(to)}
			if to == "10.0.0.2" {
				dst.Key = object.Key{Namespace: "other", Name: "other"}
			}
			return state.Snapshot.Evaluate(intent.Flow{Src: src, Dst: dst, Protocol: intent.TCP, Port: port}).Allowed
		}
		for _, port := range []uint16{80, 443, 22} {
			for _, to := range outside {
				want := port != 22 && passes(rules, netip.MustParseAddr(to), port)
				require.Equal(t, want, verdict("shop", "web", to, port), "seed %d: to %s:%d\n%s", seed, to, port, &text)
				require.True(t, verdict("other", "other", to, port), "another namespace")
			}
			require.Equal(t, port != 22, verdict("shop", "web", "10.0.0.2", port), "seed %d: to a pod", seed)
		}

		unasked, err := offline.Load(offline.Manifests{Paths: []string{file}})
		require.NoError(t, err)
		require.Equal(t, 1, unasked.Snapshot.PolicyCount(), "it is not written to a target")
		require.NotEmpty(t, unasked.Doubts())
	})
}
