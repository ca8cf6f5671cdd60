package intent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

func intentOf(s intent.Scope, name string) *intent.DeviceIntent {
	o := intent.Origin{Kind: "FirewallZone", Namespace: s.Namespace, Name: name}
	return &intent.DeviceIntent{ID: intent.NewDeviceIntentID(s, o, ""), Scope: s, Origin: o, Spec: &intent.Zone{}}
}

func TestDeviceIntentsAreFoundByScope(t *testing.T) {
	a, b := intent.Scope{Namespace: "shop", Purpose: "cnf"}, intent.Scope{Namespace: "shop", Purpose: "cnf1"}
	first := intent.NewSnapshot().Next()
	for _, e := range []*intent.DeviceIntent{intentOf(a, "wan"), intentOf(a, "lan"), intentOf(b, "lan")} {
		first.PutDeviceIntent(e)
	}
	first.PutCNF(&intent.CNF{ID: "shop/cnf-0", Scope: a})
	one := first.Commit()
	require.EqualValues(t, 1, one.Revision())
	names := func(s *intent.Snapshot, of intent.Scope) (out []string) {
		for e := range s.DeviceIntentsOf(of) {
			out = append(out, e.Origin.Name)
		}
		return out
	}
	require.Equal(t, []string{"lan", "wan"}, names(one, a))
	require.Equal(t, []string{"lan"}, names(one, b))
	require.Len(t, slices.Collect(one.DeviceIntents()), 3)
	require.Equal(t, a, one.CNF("shop/cnf-0").Scope)

	next := one.Next()
	next.DropDeviceIntent(intentOf(a, "wan").ID)
	next.DropDeviceIntent(intentOf(a, "nothing").ID)
	next.DropCNF("shop/cnf-0")
	next.DropCNF("shop/cnf-1")
	next.SetUnknown(intent.AreaDevices)
	two := next.Commit()
	require.Equal(t, []string{"lan"}, names(two, a))
	require.Equal(t, []string{"lan", "wan"}, names(one, a), "an older snapshot stays as it is")
	require.Nil(t, two.CNF("shop/cnf-0"))
	require.True(t, two.Unknown().Has(intent.AreaDevices))
	changes, ok := two.Since(1)
	require.True(t, ok)
	require.Equal(t, []intent.Change{{
		DeviceIntents: []intent.DeviceIntentID{intentOf(a, "wan").ID}, CNFs: []intent.CNFID{"shop/cnf-0"}, Unknown: true,
	}}, changes)

	again := two.Next()
	again.SetUnknown(intent.AreaDevices)
	require.Same(t, two, again.Commit(), "nothing changed")
}

func TestSecretsAreNotPrinted(t *testing.T) {
	v := intent.SecretValue{Value: "hush"}
	require.True(t, v.Set())
	for _, text := range []string{v.Value.String(), v.Value.GoString()} {
		require.NotContains(t, text, "hush")
	}
	spelled, err := v.Value.MarshalText()
	require.NoError(t, err)
	require.NotContains(t, string(spelled), "hush")
	whole, err := json.Marshal(map[string]any{"v": v, "list": []intent.Secret{"hush"}})
	require.NoError(t, err)
	require.NotContains(t, string(whole), "hush")
	for _, verb := range strings.Fields("%v %+v %#v %s %q %x %X %d %t %c %U %e %10s") {
		for _, of := range []any{v.Value, v, &v, intent.Tunnel{Key: v}, []intent.Secret{"hush"}, map[string]intent.SecretValue{"a": v}} {
			text := fmt.Sprintf(verb, of)
			require.NotContains(t, text, "hush", verb)
			require.NotContains(t, strings.ToLower(text), "68757368", verb)
		}
	}
	require.False(t, intent.SecretValue{}.Set())
}
