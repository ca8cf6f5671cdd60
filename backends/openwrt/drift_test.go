package openwrt_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/openwrt"
)

// TestDrift changes each field of each object, takes each object away, and has each there twice.
func TestDrift(t *testing.T) {
	r := newRig(t)
	r.fill(t)
	r.reconcile(t)
	whole := dump(t, r)
	harmed := map[string]bool{} // shapes of fields
	for _, kind := range openwrt.Kinds() {
		all, err := r.client.List(t.Context(), kind)
		require.NoError(t, err)
		for _, o := range all {
			if strings.Contains(o.Name(), "_seal_") || strings.Contains(o.Name(), "_parts_") {
				continue
			}
			for field, v := range o {
				shape := harm(t, r, kind, o, field, v)
				if harmed[shape] = true; shape != "" {
					p := r.reconcileFully(t)
					require.Equal(t, 1, verbs(p)[backends.Update]+verbs(p)[backends.Create], "%s %s: %s", o.Name(), field, text(t, p))
					require.Equal(t, whole, dump(t, r), "%s %s", o.Name(), field)
				}
			}
			takeAway(t, r, kind, o.Name())
			p := r.reconcileFully(t)
			require.Equal(t, 1, verbs(p)[backends.Create], "deleted %s: %s", o.Name(), text(t, p))
			require.Zero(t, verbs(p)[backends.Update], "deleted %s: %s", o.Name(), text(t, p))
			require.Equal(t, whole, dump(t, r), "deleted %s", o.Name())
			if !kind.Named() && kind != openwrt.NATs && kind != openwrt.NetworkRules {
				// Of those two the device leaves what the second put into the kernel, whoever takes it away.
				_, err := r.client.Create(t.Context(), kind, o)
				require.NoError(t, err)
				p := r.reconcileFully(t)
				require.Equal(t, 1, verbs(p)[backends.Update], "twice %s", o.Name())
				require.Equal(t, map[string]any{"copies": 2}, map[string]any(p.Ops[0].Before))
				require.Equal(t, whole, dump(t, r), "twice %s", o.Name())
			}
		}
	}
	for _, shape := range []string{"text", "secret", "list", "flag", "objects"} {
		require.True(t, harmed[shape], "no %s was changed", shape)
	}
	require.Empty(t, text(t, r.readBack(t)))
}

// takeAway deletes an object, past the interface where that says that others refer to it.
func takeAway(t *testing.T, r *rig, kind openwrt.Kind, name string) {
	t.Helper()
	err := r.client.Delete(t.Context(), kind, name)
	if !openwrt.IsInUse(err) {
		require.NoError(t, err)
		return
	}
	section := map[openwrt.Kind][2]string{
		openwrt.Policies: {"mwan3", "policy"}, openwrt.Zones: {"firewall", "zone"}, openwrt.Proposals: {"ipsec", "proposal"},
	}[kind]
	require.Equal(t, 1, r.device.RemoveSection(section[0], section[1], name), "%s %s", kind, name)
}

// harm writes another value into a field, and says of what shape it is; "" when the device took none.
func harm(t *testing.T, r *rig, kind openwrt.Kind, o openwrt.Object, field string, was any) string {
	t.Helper()
	if field == "name" || kind == openwrt.Remotes && o["authentication_method"] == "pubkey" {
		return "" // certificates have a test of their own
	}
	shape, values := others(was)
	for _, v := range values {
		c := maps.Clone(o)
		c[field] = v
		if openwrt.Diff(kind, o, c) == nil {
			continue
		}
		if _, err := r.client.Put(t.Context(), kind, c); err == nil {
			return shape
		}
		_, err := r.client.Put(t.Context(), kind, o)
		require.NoError(t, err)
	}
	return ""
}

// others are values that a field may have instead of one.
func others(was any) (shape string, values []any) {
	switch v := was.(type) {
	case string:
		for _, s := range []string{"7", "10.9.9.9", "udp", "DROP", "ACCEPT", "net2", "ipv6", "0", "aes128", "md5", "modp768", "MASQUERADE"} {
			values = append(values, s)
		}
		return "text", values
	case openwrt.Secret:
		return "secret", []any{v + "2"}
	case []string:
		for _, s := range []string{"net2", "192.0.2.0/24", "echo-reply"} {
			values = append(values, append(slices.Clone(v), s))
		}
		return "list", append(values, v[1:], nil)
	case bool:
		return "flag", []any{!v}
	case []openwrt.Object:
		return "objects", []any{v[1:], v[:len(v)-1]}
	default:
		return "", nil
	}
}
