package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExplainAnSDWANResource(t *testing.T) {
	got := netloom(t, "explain", "-f", sdwanDir, "mwan3rule/edge/web")
	require.Equal(t, exitDone, got.code, got.errout)
	require.Regexp(t, `(?m)^on openwrt/edge/cnf-0$`, got.out)
	require.Regexp(t, `(?m)^  mwan3/rules noftn[0-9a-z]{10}$`, got.out)
	require.Contains(t, got.out, "    timeout: 300\n")
	got = netloom(t, "explain", "-f", sdwanDir, "ipsecsite/edge/headquarters", "-o", "json")
	require.Contains(t, got.out, "which is not read for this")
	got = netloom(t, "explain", "-f", sdwanDir, "mwan3rule/edge/wed")
	require.Contains(t, got.errout, "did you mean edge/web?")
	require.Contains(t, netloom(t, "__complete", "explain", "-f", sdwanDir, "mwan3rule/").out, "mwan3rule/edge/web")
}

// A daemon that cannot read a kind says so in its manifests, and commands that ask it report that.
func TestAnswersSayWhatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"apiVersion":"v1","kind":"List","unavailable":["EndpointSlice","Mwan3Rule"],"items":[
		{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-0"},"status":{"podIP":"10.0.0.1"}}]}`), 0o600))
	for _, args := range [][]string{
		{"probe", "shop/web-0->10.96.0.1:tcp/80"}, {"explain", "pod/shop/web-0"}, {"translate"},
	} {
		got := netloom(t, append(args, "-f", file)...)
		require.Equal(t, exitDone, got.code, got.errout)
		require.Contains(t, got.errout, "note: Services cannot be read: ", args)
		require.Contains(t, got.errout, "note: SD-WAN objects cannot be read: ", args)
	}
	require.Contains(t, netloom(t, "probe", "-f", file, "shop/web-0->10.96.0.1:tcp/80").out, "this may be the address of a Service")
	require.Contains(t, netloom(t, "explain", "-f", file, "pod/shop/web-0", "-o", "json").out, `"unknown": [`)
}
