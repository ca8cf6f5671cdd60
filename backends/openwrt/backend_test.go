package openwrt_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKind(t *testing.T) {
	r := newRig(t)
	before, kernel := r.device.Export(), r.device.Kernel()
	e := r.fill()
	p := r.reconcile(t)
	require.Empty(t, p.Skips)
	require.Equal(t, []string{"mwan3 reload", "firewall reload", "ipsec reload"}, r.reloads())
	r.requireSettled(t)
	require.Empty(t, r.plan(t).Ops)
	r.drop(e.list()...)
	p = r.reconcile(t)
	require.Empty(t, p.Skips)
	// The type of a tunnel is a switch of the whole device, which has no way back.
	left := strings.NewReplacer("\toption rtinstall_enabled '0'\n", "", "\toption vip_enabled '1'\n", "")
	require.Equal(t, before, left.Replace(r.device.Export()))
	require.Equal(t, kernel, r.device.Kernel())
	r.requireSettled(t)
}
