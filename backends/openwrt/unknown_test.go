package openwrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/intent"
)

// While a kind is unavailable, an object that no intent asks for may still be wanted.
func TestWhatMayBeAskedForStays(t *testing.T) {
	r := newRig(t)
	e := newEverything()
	r.put(e.linkNAT, e.masquerade, e.route)
	r.reconcile(t)
	r.restart(t, "a")

	unknown := &intent.DeviceIntent{
		ID: "shop/cnf/CNFService/shop/s/unknown/nat", Scope: scope(), Origin: intent.Origin{Kind: "CNFService", Namespace: "shop", Name: "s"},
		Unknown: true, Spec: &intent.LinkNAT{},
	}
	r.drop(e.linkNAT, e.route)
	r.put(unknown)
	gone := *e.masquerade
	gone.Gone = true
	r.put(&gone)
	plan := r.reconcile(t)
	require.NotContains(t, text(t, plan), "httpd", "it may be wanted")
	require.Contains(t, text(t, plan), "route", "other kinds are available")
	require.Contains(t, text(t, plan), "masq", "it is known to be deleted")
	require.Len(t, plan.Skips, 1)
	require.Equal(t, string(unknown.ID), plan.Skips[0].Intent)
	r.requireSettled(t)

	r.drop(unknown)
	plan = r.reconcile(t)
	require.Len(t, plan.Ops, 1, text(t, plan))
	require.Empty(t, plan.Skips)
	r.requireSettled(t)
}
