package explain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/answerstest"
	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

func TestExplainAnSDWANObject(t *testing.T) {
	state := answerstest.Examples(t)
	b := answerstest.CNFs(nil).Next()
	zone := intent.Origin{Kind: "FirewallZone", Namespace: "branch", Name: "lan"}
	rule := intent.Origin{Kind: "FirewallRule", Namespace: "branch", Name: "web"}
	id := intent.NewDeviceIntentID(answerstest.Branch, zone, "")
	b.PutDeviceIntent(&intent.DeviceIntent{ID: id, Scope: answerstest.Branch, Origin: zone, Spec: &intent.Zone{Networks: []string{"lan"}}})
	b.PutDeviceIntent(&intent.DeviceIntent{
		ID: intent.NewDeviceIntentID(answerstest.Branch, rule, ""), Scope: answerstest.Branch, Origin: rule, Spec: &intent.FirewallRule{}, Needs: []intent.DeviceIntentID{id},
	})
	state.Snapshot = b.Commit()
	state.Objects.Add(world.SDWANObject{
		Kind: "FirewallZone", Plural: "firewallzones", Namespace: "branch", Name: "lan", State: "Trying to apply", Message: "no route",
	})
	state.Objects.Add(world.SDWANObject{Kind: "FirewallZone", Plural: "firewallzones", Namespace: "branch", Name: "idle"})
	state.Problems = []object.Problem{{Ref: object.Ref{Kind: "FirewallZone", Namespace: "branch", Name: "lan"}, Message: "odd"}}
	inv := world.New(state)
	for _, text := range []string{"firewallzone/branch/lan", "FirewallZones/branch/lan"} {
		e := explained(t, inv, text).SDWAN
		require.Equal(t, "FirewallZone/branch/lan", e.Name)
		require.Equal(t, "branch/edge", e.Scope)
		require.Equal(t, []string{"Trying to apply", "no route"}, []string{e.State, e.Message})
		require.Equal(t, []string{"FirewallRule/branch/web"}, e.NeededBy)
		require.Len(t, e.CNFs, 4)
		require.Len(t, e.Wants, 1)
		require.Len(t, e.Problems, 1)
	}
	require.NotEmpty(t, explained(t, inv, "firewallzone/branch/idle").SDWAN.Note)
	_, err := explain.Of(inv, "firewallzone/branch/lam", "")
	require.ErrorIs(t, err, name.ErrNotFound)
	require.ErrorContains(t, err, "branch/lan")
	require.Contains(t, inv.SDWANNames(), "firewallzone/branch/idle")
}

func TestAnswersSayThatServicesAreUnknown(t *testing.T) {
	state := answerstest.Examples(t)
	inv := world.New(state)
	q := question.Question{From: "shop/web-0", To: "10.96.0.30", Port: "tcp/5432"}
	known, err := probe.Of(inv, q, question.Where{})
	require.NoError(t, err)
	require.Empty(t, known[0].Notes)
	require.Empty(t, explained(t, inv, "pod/shop/web-0").Unknown)

	b := state.Snapshot.Next()
	b.SetUnknown(intent.AreaBalancers)
	for lb := range state.Snapshot.LoadBalancers() {
		b.DropLoadBalancer(lb.ID)
	}
	state.Snapshot = b.Commit()
	state.Objects.Services = nil
	inv = world.New(state)
	unknown, err := probe.Of(inv, q, question.Where{})
	require.NoError(t, err)
	require.Contains(t, unknown[0].Notes, "10.96.0.30: Services cannot be read: this may be the address of a Service")
	_, err = probe.Of(inv, question.Question{From: "shop/web-0", To: "svc/shop/db"}, question.Where{})
	require.ErrorContains(t, err, "Services cannot be read")
	_, err = explain.Of(inv, "svc/shop/db", "")
	require.ErrorContains(t, err, "Services cannot be read")
	require.Len(t, explained(t, inv, "pod/shop/web-0").Unknown, 1)
	pods, err := probe.Of(inv, question.Question{From: "shop/web-0", To: "shop/api-0", Port: "tcp/9000"}, question.Where{})
	require.NoError(t, err)
	require.Empty(t, pods[0].Notes, "what pods may do to each other is known")
}
