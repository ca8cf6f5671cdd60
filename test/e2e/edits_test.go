//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/test/e2e/ovnlab"
)

// edit is two versions of a file. Both let client reach web on the steady port and neither on the closed one; the first
// allows old and the second allows fresh.
type edit struct {
	name          string
	file          string
	before, after string
}

// policySpec is the web policy with another spec.
func policySpec(spec string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {namespace: e2e, name: web}\nspec:\n" + spec
}

// one is a policy with one rule.
func one(subject, peers, ports string) string {
	return policySpec(fmt.Sprintf("  podSelector: {matchLabels: {%s}}\n  ingress: [{from: [%s], ports: [%s]}]\n", subject, peers, ports))
}

func edits(t *testing.T) []edit {
	t.Helper()
	const (
		web       = "app: web"
		client    = "{podSelector: {matchLabels: {app: client}}}"
		both      = "{port: 7000}, {port: 7000, protocol: UDP}, "
		portOld   = both + "{port: 80}"
		portFresh = both + "{port: 81}"
		file      = "web-policy.yaml"
	)
	base := one(web, client, portOld)
	raw, err := os.ReadFile("testdata/packets/web.yaml")
	require.NoError(t, err)
	pod := string(raw)
	return []edit{
		{"another port", file, base, one(web, client, portFresh)},
		{"another selector for the same peer", file, base, one(web, "{podSelector: {matchLabels: {role: user}}}", portFresh)},
		{
			"a block instead of a selector", file, base,
			one(web, `{ipBlock: {cidr: 10.244.1.0/24}}, {ipBlock: {cidr: "fd00:10:1::/64"}}`, portFresh),
		},
		{"any source instead of a selector", file, base, policySpec("  podSelector: {matchLabels: {app: web}}\n  ingress: [{ports: [" + portFresh + "]}]\n")},
		{"another selector for the same subject", file, base, one("tier: front", client, portFresh)},
		{"names instead of numbers", file, base, one(web, client, "{port: steady}, {port: steady-udp, protocol: UDP}, {port: 81}")},
		{
			"a range instead of a number", file, base,
			one(web, client, "{port: 6990, endPort: 7010}, {port: 6000, endPort: 8000, protocol: UDP}, {port: 81}"),
		},
		{"two rules instead of one", file, base, policySpec("  podSelector: {matchLabels: {app: web}}\n  ingress:\n" +
			"  - {from: [" + client + "], ports: [{port: 81}, {port: 7000}]}\n  - {from: [" + client + "], ports: [{port: 7000, protocol: UDP}]}\n")},
		{"a second policy beside it", file, base, one(web, client, both+"{port: 81}") + "---\n" +
			strings.ReplaceAll(one(web, "{podSelector: {matchLabels: {app: far}}}", "{port: 81}"), "name: web}", "name: second}")},
		{"the subject moves from one policy to another", "web.yaml", pod, strings.ReplaceAll(pod, "app: web", "app: new")},
	}
}

// clusterEdits are edits of cluster-wide policies. The web policy stays as the last of edits left it, until the last one.
func clusterEdits() []edit {
	const (
		file      = "cluster.yaml"
		accept    = "{action: Accept, from: [" + clients + "], protocols: "
		deny      = "{action: Deny, from: [" + everyone + "]"
		steady    = accept + "[{tcp: {destinationPort: {number: 7000}}}, {udp: {destinationPort: {number: 7000}}}]}, "
		openOld   = steady + accept + "[{tcp: {destinationPort: {number: 80}}}]}, "
		openFresh = steady + accept + "[{tcp: {destinationPort: {number: 81}}}]}, "
		denyOld   = deny + ", protocols: [{tcp: {destinationPort: {number: 80}}}]}"
		denyFresh = deny + ", protocols: [{tcp: {destinationPort: {number: 81}}}]}"
		denyAll   = deny + "}"
	)
	swapped := func(first, second int) string {
		return clusterPolicy("a", "Admin", first, "app: web", "ingress: ["+openOld+denyFresh+"]") + "---\n" +
			clusterPolicy("b", "Admin", second, "app: web", "ingress: ["+openFresh+denyOld+"]")
	}
	flipped := clusterPolicy("a", "Admin", 10, "app: web", "ingress: ["+openOld+denyFresh+"]")
	moved := func(subject string) string {
		return clusterPolicy("a", "Admin", 10, subject, "ingress: ["+openFresh+denyOld+"]")
	}
	passed := clusterPolicy("pass", "Admin", 0, "app: web", "ingress: [{action: Pass, from: ["+clients+"]}, "+denyAll+"]") + "---\n" +
		clusterPolicy("base", "Baseline", 10, "app: web", "ingress: ["+openOld+denyAll+"]")
	return []edit{
		{"two priorities are swapped", file, swapped(10, 20), swapped(20, 10)},
		{"actions flip", file, flipped, clusterPolicy("a", "Admin", 10, "app: web", "ingress: ["+openFresh+denyOld+"]")},
		{"the subject changes", file, moved("app: nothing"), moved("app: web")},
		{"a NetworkPolicy appears under a rule that passes", "web-policy.yaml", passed, passed + "---\n" + webPolicy(fresh)},
	}
}

// TestEdit rewrites policies while clients connect in a loop, and checks that no version in between was ever in force.
func TestEdit(t *testing.T) {
	s := newStage(t)
	all := append(edits(t), clusterEdits()...)
	// The twin that takes over when the subject moves is in force from the start.
	put(t, s.dir, "twin.yaml", strings.ReplaceAll(one("app: new", "{podSelector: {matchLabels: {app: client}}}",
		"{port: 7000}, {port: 7000, protocol: UDP}, {port: 81}"), "name: web}", "name: twin}"))
	put(t, s.dir, all[0].file, all[0].before)
	daemon := start(t, s.dir, s.lab.NBUnix())
	s.settle(t, daemon)
	w := s.watch(t)
	w.check(t)
	for _, e := range all {
		ok := t.Run(e.name, func(t *testing.T) {
			for _, version := range []struct {
				content      string
				open, closed uint16
			}{{e.before, old, fresh}, {e.after, fresh, old}, {e.before, old, fresh}} {
				put(t, s.dir, e.file, version.content)
				s.settle(t, daemon)
				s.expect(t, ovnlab.Answered, "client", "web", "tcp", version.open)
				s.expect(t, ovnlab.Timeout, "client", "web", "tcp", version.closed)
			}
			w.check(t)
		})
		if !ok {
			return // what one edit broke would be blamed on the next
		}
	}
}
