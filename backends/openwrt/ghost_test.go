package openwrt_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// TestAPartOfAnObject has the device stop in the middle of each write, which leaves a part of the object. It is replaced, and everything else
// is written all the same; two kinds the device can neither replace nor delete then, which is reported until someone removes the section.
func TestAPartOfAnObject(t *testing.T) {
	stuck := map[string]string{"NetworkFirewallRule": "firewall-rule", "CNFRoute": "route-cnf"}
	seen := map[string]bool{}
	for at := 1; at <= 40; at++ {
		for _, edit := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, edited: %t", at, edit), func(t *testing.T) {
				r := newRig(t)
				e := r.fill(t)
				if edit {
					r.reconcile(t)
					r.put(e.changes()...)
				}
				r.device.FailAt(at, simulator.HalfMade)
				p := r.reconcileUntil(t)
				for _, s := range p.Skips {
					kind := strings.Split(s.Intent, "/")[2]
					require.Contains(t, stuck, kind, "%v", s)
					require.Contains(t, s.Reason, "which it can neither use nor delete: remove the section with the name n13a6")
					seen[kind] = true
					r.requireStuck(t)
					for _, pkg := range stuck {
						r.removeParts(t, pkg, s.Reason)
					}
				}
				r.device.FailAt(0, simulator.HalfMade)
				for _, s := range r.reconcileUntil(t).Skips {
					require.True(t, s.InEffect, "%v", s) // a rule between interfaces was removed by hand
				}
				r.requireSettled(t)
			})
		}
	}
	require.Len(t, seen, len(stuck))
}

// requireStuck demands that what cannot be repaired costs nothing else, at each read-back.
func (r *rig) requireStuck(t *testing.T) {
	t.Helper()
	for range 2 {
		p := r.reconcileUntil(t)
		require.Len(t, p.Skips, 1)
		require.Zero(t, p.Drift())
		require.LessOrEqual(t, len(p.Ops), 1)
	}
}

// removeParts does what a message asks for.
func (r *rig) removeParts(t *testing.T, pkg, message string) {
	t.Helper()
	_, rest, _ := strings.Cut(message, "with the name ")
	name, _, _ := strings.Cut(rest, " ")
	r.device.RemoveSection(pkg, map[string]string{"firewall-rule": "rule", "route-cnf": "route"}[pkg], name)
}

// TestPartsOfOthers has the device keep parts of what others tried to write, and accept what no command takes: nothing of netloom's suffers, and
// nothing of theirs is changed.
func TestPartsOfOthers(t *testing.T) {
	for _, tc := range []struct {
		name, path, body string
		kind             openwrt.Kind
	}{
		{"a route without a destination", "route/v1/routes", `{"name":"a1","dev":"net0","gw":"1.2.3.4"}`, openwrt.Routes},
		{"a rule without an action", "networkfirewall/v1/rules", `{"name":"a1","src":"net0"}`, openwrt.NetworkRules},
		{
			"a remote with a certificate that is none", "ipsec/v1/remotes",
			`{"name":"a1","authentication_method":"pubkey","local_public_cert":"it's","local_private_cert":"YWJj","shared_ca":"YWJj"}`, openwrt.Remotes,
		},
		{
			"an infinite port", "networkfirewall/v1/rules",
			`{"name":"a1","src":"net0","target":"DROP","proto":"tcp","dest_port":"1e400"}`, openwrt.NetworkRules,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			client := &http.Client{Transport: &http.Transport{DialContext: r.device.Dial, DisableKeepAlives: true}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.device.URL()+"/cgi-bin/luci/sdewan/"+tc.path, strings.NewReader(tc.body))
			require.NoError(t, err)
			resp, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			theirs := r.object(t, tc.kind, "a1")
			e := r.fill(t)
			p := r.reconcileUntil(t)
			require.Empty(t, p.Skips)
			require.Equal(t, len(e.list()), len(p.Ops)-verbs(p)[backends.Reload])
			r.put(e.changes()...)
			require.Empty(t, r.reconcileUntil(t).Skips)
			r.requireSettled(t)
			require.Equal(t, theirs, r.object(t, tc.kind, "a1"))
			r.drop(e.list()...)
			require.Empty(t, r.reconcileUntil(t).Skips)
			require.Equal(t, theirs, r.object(t, tc.kind, "a1"))
		})
	}
}
