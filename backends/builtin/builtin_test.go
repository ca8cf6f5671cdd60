package builtin_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

func settings(change func(*builtin.Settings)) builtin.Settings {
	log := logrus.New()
	log.SetLevel(logrus.PanicLevel)
	s := builtin.Settings{
		Owner: "netloom", Log: log, OVN: ovn.Settings{
			Endpoints: []string{"unix:/nowhere/nb.sock"}, PortNames: "ovn-kubernetes",
		}, OpenWRT: builtin.OpenWRTSettings{Client: openwrt.Options{URL: "http://192.0.2.1"}, CNF: "shop/cnf-0"},
		Tungsten: tungsten.Settings{Servers: []string{"http://192.0.2.1:8082"}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func TestEveryBackendCanBeMade(t *testing.T) {
	require.Equal(t, []string{"memory", "openwrt", "ovn", "tungsten"}, slices.Sorted(maps.Keys(builtin.Constructors())))
	for name := range builtin.Constructors() {
		target, err := builtin.New(name, settings(nil))
		require.NoError(t, err)
		require.Equal(t, name, target.Name)
		require.NoError(t, target.Backend.Close())
	}
}

// TestWhoCanBeClaimed looks through the target at its backend, as the daemon does.
func TestWhoCanBeClaimed(t *testing.T) {
	claimers := map[string]bool{}
	for name := range builtin.Constructors() {
		target, err := builtin.New(name, settings(nil))
		require.NoError(t, err)
		_, claimers[name] = target.Backend.(backends.Claimer)
	}
	require.Equal(t, map[string]bool{"memory": true, "openwrt": false, "ovn": true, "tungsten": false}, claimers)
}

func TestTargetsAreThoseThatSettingsAskFor(t *testing.T) {
	names := func(s builtin.Settings) []string {
		targets, err := builtin.Configured(s)
		require.NoError(t, err)
		var out []string
		for _, target := range targets {
			out = append(out, target.Name)
			require.NoError(t, target.Backend.Close())
		}
		return out
	}
	require.Equal(t, []string{"ovn", "tungsten"}, names(settings(nil)), "CNFs get their targets later, and nothing asks for memory")

	_, err := builtin.Configured(settings(func(s *builtin.Settings) { s.OVN.Endpoints, s.Tungsten.Servers = nil, nil }))
	require.ErrorIs(t, err, builtin.ErrNoTarget)
	_, err = builtin.Configured(settings(func(s *builtin.Settings) { s.OVN.PortNames = "{what}" }))
	require.ErrorContains(t, err, "{what}")
}

// TestPartsAreEnoughForOVNAlone asks whether rules are written in parts alone.
func TestPartsAreEnoughForOVNAlone(t *testing.T) {
	only := func(edit func(*builtin.Settings)) bool {
		s := settings(edit)
		return s.PartsOnly()
	}
	require.True(t, only(func(s *builtin.Settings) { s.Tungsten.Servers = nil }))
	require.False(t, only(nil), "Tungsten Fabric takes whole rules")
	require.False(t, only(func(s *builtin.Settings) { s.OVN.Endpoints = nil }))
}

// TestOptionalInterfaces lists what the daemon and the commands may ask of each backend.
func TestOptionalInterfaces(t *testing.T) {
	can := map[string][]string{}
	for name := range builtin.Constructors() {
		target, err := builtin.New(name, settings(nil))
		require.NoError(t, err)
		if _, ok := target.Backend.(backends.RowTracer); ok {
			can[name] = append(can[name], "trace rows")
		}
		if _, ok := target.Backend.(backends.RowCounter); ok {
			can[name] = append(can[name], "count rows")
		}
		if _, ok := target.Backend.(backends.PortFinder); ok {
			can[name] = append(can[name], "find ports")
		}
		if _, ok := target.Backend.(backends.RowReader); ok {
			can[name] = append(can[name], "read rows")
		}
	}
	require.Equal(t, map[string][]string{
		"ovn": {"trace rows", "count rows", "find ports", "read rows"}, "tungsten": {"trace rows", "count rows", "read rows"},
	}, can)
}

func TestMemoryIsThereAtOnce(t *testing.T) {
	target, err := builtin.New("memory", settings(nil))
	require.NoError(t, err)
	plan, err := target.Backend.Plan(t.Context(), intent.NewSnapshot(), 0)
	require.NoError(t, err)
	require.True(t, plan.Full)
}

func TestOVNIsDownUntilItsServerAnswers(t *testing.T) {
	target, err := builtin.New("ovn", settings(nil))
	require.NoError(t, err)
	require.False(t, target.Up())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, target.Run(ctx))
}

func TestOpenWRTIsAskedNothingUntilItIsPlannedFor(t *testing.T) {
	target, err := builtin.New("openwrt", settings(nil))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, target.Run(ctx))
	_, err = target.Backend.Plan(t.Context(), intent.NewSnapshot(), 0)
	require.ErrorContains(t, err, "CNF shop/cnf-0: it does not exist")
}

func TestSettingsThatAreNone(t *testing.T) {
	for _, tc := range []struct {
		name, backend string
		change        func(*builtin.Settings)
		want          string
	}{
		{"a backend that is not compiled in", "iptables", nil, `backend "iptables": expected one of memory, openwrt, ovn, tungsten`},
		{"an owner", "ovn", func(s *builtin.Settings) { s.Owner = "" }, `owner ""`},
		{"no endpoints", "ovn", func(s *builtin.Settings) { s.OVN.Endpoints = nil }, "endpoint"},
		{"port names", "ovn", func(s *builtin.Settings) { s.OVN.PortNames = "{what}" }, "{what}"},
		{"a list of switches with an empty name", "ovn", func(s *builtin.Settings) { s.OVN.LoadBalancing.Switches = "a," }, `switches: ""`},
		{"no CNF", "openwrt", func(s *builtin.Settings) { s.OpenWRT.CNF = "" }, "CNF: not set"},
		{"an owner of a CNF", "openwrt", func(s *builtin.Settings) { s.Owner = "A" }, `owner "A"`},
		{"no device", "openwrt", func(s *builtin.Settings) { s.OpenWRT.Client.URL = "" }, "URL"},
		{"ssl without an authority", "ovn", func(s *builtin.Settings) { s.OVN.Endpoints = []string{"ssl:h:1"} }, "ssl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := builtin.New(tc.backend, settings(tc.change))
			require.ErrorContains(t, err, tc.want)
		})
	}
}
