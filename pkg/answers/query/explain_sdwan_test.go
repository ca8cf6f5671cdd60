package query_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/query"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestExplainAnSDWANObject(t *testing.T) {
	state := examples(t)
	b := cnfs(nil).Next()
	zone := intent.Origin{Kind: "FirewallZone", Namespace: "branch", Name: "lan"}
	rule := intent.Origin{Kind: "FirewallRule", Namespace: "branch", Name: "web"}
	id := intent.NewDeviceIntentID(branch, zone, "")
	b.PutDeviceIntent(&intent.DeviceIntent{ID: id, Scope: branch, Origin: zone, Spec: &intent.Zone{Networks: []string{"lan"}}})
	b.PutDeviceIntent(&intent.DeviceIntent{
		ID: intent.NewDeviceIntentID(branch, rule, ""), Scope: branch, Origin: rule, Spec: &intent.FirewallRule{}, Needs: []intent.DeviceIntentID{id},
	})
	state.Snapshot = b.Commit()
	state.Objects.Add(query.SDWANObject{
		Kind: "FirewallZone", Plural: "firewallzones", Namespace: "branch", Name: "lan", State: "Trying to apply", Message: "no route",
	})
	state.Objects.Add(query.SDWANObject{Kind: "FirewallZone", Plural: "firewallzones", Namespace: "branch", Name: "idle"})
	state.Problems = []object.Problem{{Ref: object.Ref{Kind: "FirewallZone", Namespace: "branch", Name: "lan"}, Message: "odd"}}
	inv := query.NewInventory(state)
	for _, text := range []string{"firewallzone/branch/lan", "FirewallZones/branch/lan"} {
		e := explain(t, inv, text).SDWAN
		require.Equal(t, "FirewallZone/branch/lan", e.Name)
		require.Equal(t, "branch/edge", e.Scope)
		require.Equal(t, []string{"Trying to apply", "no route"}, []string{e.State, e.Message})
		require.Equal(t, []string{"FirewallRule/branch/web"}, e.NeededBy)
		require.Len(t, e.CNFs, 4)
		require.Len(t, e.Wants, 1)
		require.Len(t, e.Problems, 1)
	}
	require.NotEmpty(t, explain(t, inv, "firewallzone/branch/idle").SDWAN.Note)
	_, err := inv.Explain("firewallzone/branch/lam", "")
	require.ErrorIs(t, err, query.ErrNotFound)
	require.ErrorContains(t, err, "branch/lan")
	require.Contains(t, inv.SDWANNames(), "firewallzone/branch/idle")
}

func TestAnswersSayThatServicesAreUnknown(t *testing.T) {
	state := examples(t)
	inv := query.NewInventory(state)
	q := query.Question{From: "shop/web-0", To: "10.96.0.30", Port: "tcp/5432"}
	known, err := inv.Probe(q, query.Where{})
	require.NoError(t, err)
	require.Empty(t, known[0].Notes)
	require.Empty(t, explain(t, inv, "pod/shop/web-0").Unknown)

	b := state.Snapshot.Next()
	b.SetUnknown(intent.AreaBalancers)
	for lb := range state.Snapshot.LoadBalancers() {
		b.DropLoadBalancer(lb.ID)
	}
	state.Snapshot = b.Commit()
	state.Objects.Services = nil
	inv = query.NewInventory(state)
	unknown, err := inv.Probe(q, query.Where{})
	require.NoError(t, err)
	require.Contains(t, unknown[0].Notes, "10.96.0.30: Services cannot be read: this may be the address of a Service")
	_, err = inv.Probe(query.Question{From: "shop/web-0", To: "svc/shop/db"}, query.Where{})
	require.ErrorContains(t, err, "Services cannot be read")
	_, err = inv.Explain("svc/shop/db", "")
	require.ErrorContains(t, err, "Services cannot be read")
	require.Len(t, explain(t, inv, "pod/shop/web-0").Unknown, 1)
	pods, err := inv.Probe(query.Question{From: "shop/web-0", To: "shop/api-0", Port: "tcp/9000"}, query.Where{})
	require.NoError(t, err)
	require.Empty(t, pods[0].Notes, "what pods may do to each other is known")
}
