package main

import (
	"context"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	client "github.com/netloom/netloom/pkg/openwrt"
	device "github.com/netloom/netloom/pkg/simulator/openwrt"
	controller "github.com/netloom/netloom/pkg/simulator/tungsten"
)

// requireRemoval removes what an owner has in a target: first nothing without --yes, then everything, then there is nothing to do.
func requireRemoval(t *testing.T, what string, count func() int, args ...string) {
	t.Helper()
	args = append([]string{"remove"}, args...)
	before := count()
	require.Positive(t, before)
	got := netloom(t, args...)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Contains(t, got.out, what)
	require.Equal(t, before, count(), "nothing is removed without --yes")
	got = netloom(t, append(args, "--yes")...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, what)
	require.Zero(t, count())
	got = netloom(t, args...)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.out, "nothing to do")
}

func TestRemoveFromOVN(t *testing.T) {
	dir, server := manifests(t), database(t)
	for _, owner := range []string{"east", "west"} {
		require.Equal(t, exitDone, netloom(t, "apply", "-f", dir, "--ovn-nb", server.Addr(), "--owner", owner).code)
	}
	rows := func(owner string) func() int {
		return func() int { return strings.Count(server.Dump(), "netloom.io/owner="+owner) }
	}
	west := rows("west")()
	requireRemoval(t, "\n- ", rows("east"), "--ovn-nb", server.Addr(), "--owner", "east")
	require.Equal(t, west, rows("west")(), "another owner's rows stay")
}

func TestRemoveFromTungsten(t *testing.T) {
	server := controller.New(controller.Options{ServiceMonitor: true})
	t.Cleanup(server.Close)
	url, err := server.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	for _, owner := range []string{"east", "west"} {
		got := netloom(t, "apply", "-f", "../../examples", "--tungsten", url, "--owner", owner)
		require.Equal(t, exitUnprotected, got.code, got.errout)
	}
	objects := func(owner string) func() int {
		return func() int {
			n := 0
			for _, kind := range []string{
				"tag", "address-group", "firewall-rule", "firewall-policy", "application-policy-set", "virtual-machine-interface", "instance-ip",
				"loadbalancer", "loadbalancer-listener", "loadbalancer-pool", "loadbalancer-member",
			} {
				for _, o := range server.Objects(kind) {
					if strings.Contains(string(o), "netloom."+owner+".") {
						n++
					}
				}
			}
			return n
		}
	}
	west := objects("west")()
	requireRemoval(t, "delete firewall-policy", objects("east"), "--tungsten", url, "--owner", "east")
	require.Equal(t, west, objects("west")(), "another owner's objects stay")
}

func TestRemoveFromADevice(t *testing.T) {
	d, err := device.New(device.Options{TLS: true, Strict: true})
	require.NoError(t, err)
	t.Cleanup(d.Close)
	require.NoError(t, d.Start("127.0.0.1:0"))
	dir := t.TempDir()
	write(t, dir, "ca", string(d.CA()))
	write(t, dir, "password", device.DefaultPassword+"\n")

	c, err := client.New(client.Options{
		URL: d.URL(), CA: d.CA(), Password: func(context.Context) (string, error) { return device.DefaultPassword, nil },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b, err := openwrt.New(c, openwrt.Options{Owner: "east", CNF: "shop/cnf-0"})
	require.NoError(t, err)
	scope := intent.Scope{Namespace: "shop", Purpose: "cnf"}
	change := intent.NewSnapshot().Next()
	change.PutCNF(&intent.CNF{ID: "shop/cnf-0", Scope: scope, Ready: true, Addr: netip.MustParseAddr("10.244.0.7"), Networks: map[string]string{"net0": "net0"}})
	of := intent.Origin{Kind: "FirewallZone", Namespace: "shop", Name: "lan"}
	change.PutDeviceIntent(&intent.DeviceIntent{
		ID: intent.NewDeviceIntentID(scope, of, ""), Origin: of, Scope: scope,
		Spec: &intent.Zone{Networks: []string{"net0"}, Input: intent.Accept, Output: intent.Accept, Forward: intent.Reject},
	})
	plan, err := b.Plan(t.Context(), change.Commit(), 0)
	require.NoError(t, err)
	require.NoError(t, b.Apply(t.Context(), plan))

	zones := func() int { return strings.Count(d.Export(), "config zone") }
	args := []string{"--device", d.URL(), "--device-ca", filepath.Join(dir, "ca"), "--device-password-file", filepath.Join(dir, "password")}
	got := netloom(t, append([]string{"remove", "--owner", "west"}, args...)...)
	require.Contains(t, got.out, "nothing to do", got.errout)
	requireRemoval(t, "delete", zones, append(args, "--owner", "east")...)
	got = netloom(t, append([]string{"remove", "--ovn-nb", "tcp:127.0.0.1:1"}, args...)...)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.errout, "--device: expected no other target")
}
