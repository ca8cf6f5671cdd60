package intents_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

func TestCNFsAreListed(t *testing.T) {
	got, err := json.Marshal(intents.OfSnapshot(answerstest.CNFs(nil)).CNFs)
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"id": "branch/cnf-0", "target": "openwrt/branch/cnf-0", "scope": "branch/edge", "group": "StatefulSet/cnf", "node": "n1",
			"address": "10.0.0.1", "state": "ready", "networks": {"wan": "net1"}},
		{"id": "branch/cnf-1", "target": "openwrt//", "scope": "branch/edge", "state": "conflict", "conflict": "two have the purpose"},
		{"id": "branch/cnf-2", "target": "openwrt//", "scope": "branch/edge", "state": "leaving"},
		{"id": "branch/cnf-3", "target": "openwrt//", "scope": "branch/edge", "state": "not ready"}
	]`, string(got))
}

func TestDeviceIntentsSayWhatTheyWant(t *testing.T) {
	prefix := netip.MustParsePrefix("10.1.0.0/24")
	for name, tc := range map[string]struct {
		spec intent.DeviceSpec
		want string
	}{
		"zone": {&intent.Zone{
			Networks: []string{"a", "b"}, Masquerade: intent.On, MasqueradeFrom: []intent.PrefixMatch{{Prefix: prefix, Not: true}},
			Input: intent.Accept, Forward: intent.Drop, Family: intent.IPv4, ClampMSS: intent.Off,
		}, "clampMSS=off family=ipv4 forward=drop input=accept masquerade=on masqueradeFrom=!10.1.0.0/24 networks=a, b"},
		"rule": {&intent.FirewallRule{
			From: intent.DeviceRef{Name: "lan"}, To: intent.DeviceRef{ID: "x/y/FirewallZone/x/wan"}, Decides: intent.Reject,
			Match: intent.Match{Src: prefix, DstPort: 80, ICMPTypes: []string{"any"}, Protocol: "tcp"},
		}, "decides=reject dstPort=80 from=lan icmpTypes=any protocol=tcp src=10.1.0.0/24 to=x/y/FirewallZone/x/wan"},
		"nat": {&intent.LinkNAT{To: intent.Link{Default: true}, Translation: intent.Translation{
			Kind: intent.SourceNAT, Addr: netip.MustParseAddr("192.0.2.1"),
		}}, "addr=192.0.2.1 kind=source to=the default route's"},
		"policy": {
			&intent.WANPolicy{Members: []intent.WANMember{{Network: "wan", Metric: 1, Weight: 2}}},
			"members=(metric=1 network=wan weight=2)",
		},
		"tunnel": {&intent.Tunnel{
			Remote: "192.0.2.9", Authentication: intent.PreSharedKey, Key: intent.SecretValue{Value: "hunter2"},
			CA:          intent.SecretValue{From: intent.SecretRef{Namespace: "branch", Name: "peer", Key: "ca"}},
			PrivateKey:  intent.SecretValue{Value: "-----BEGIN"},
			Connections: []intent.Connection{{Name: "c", Mark: "0x1"}},
		}, "authentication=pre-shared key ca=Secret branch/peer, key ca connections=(mark=0x1 name=c) key=(redacted) " +
			"privateKey=(redacted) remote=192.0.2.9"},
		"application": {&intent.Application{Sources: "set"}, "sources=set"},
		"nothing":     {&intent.Proposal{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := intents.OfSnapshot(answerstest.CNFs(map[string]intent.DeviceSpec{name: tc.spec})).DeviceIntents
			require.Len(t, all, 1)
			require.Equal(t, tc.want, intents.FieldsText(all[0].Wants))
			require.Equal(t, tc.spec.DeviceKind().String(), all[0].Kind)
			text, err := json.Marshal(all)
			require.NoError(t, err)
			require.NotContains(t, string(text), "hunter2")
			require.NotContains(t, string(text), "BEGIN")
		})
	}
}

func TestWhatIsUnknownIsReported(t *testing.T) {
	b := answerstest.CNFs(nil).Next()
	require.Empty(t, world.Unknown(b.Commit()))
	b.SetUnknown(intent.AreaBalancers | intent.AreaDevices)
	s := b.Commit()
	require.Len(t, world.Unknown(s), 2)
	require.Equal(t, world.Unknown(s), intents.OfSnapshot(s).Unknown)
}
