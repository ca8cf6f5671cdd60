package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanOfADaemon(t *testing.T) {
	answer := `{"targets":[{"target":"ovn","plan":{"revision":1,"full":true,"owned":1,"isolated":0,"leaving":0,"ops":[
		{"verb":"update","kind":"Address_Set","name":"a","group":0,"before":{"addresses":["10.0.0.1","10.0.0.2"]},
			"after":{"external_ids":{"k":"v"}}}]}}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/debug/plan?output=json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	got := netloom(t, "plan", "--server", server.URL)
	require.Equal(t, exitDiffers, got.code, got.errout)
	require.Equal(t, "ovn:\n~ Address_Set a\n    addresses: 10.0.0.1 10.0.0.2 → –\n    external_ids: – → k=v\n"+
		"1 operation in 1 transaction: update Address_Set ×1\n", got.out)

	answer = `{"targets":[{"target":"openwrt/site/cnf-0","error":"no route"},{"target":"ovn","plan":{"ops":[]}}]}`
	got = netloom(t, "plan", "--server", server.URL)
	require.Equal(t, exitCannotTell, got.code)
	require.Equal(t, "openwrt/site/cnf-0:\nerror: no route\novn:\nnothing to do\n", got.out)
	require.Contains(t, got.errout, "cannot tell: no plan for 1 target of 2")

	answer = `{"targets":[{"target":"ovn","plan":{"ops":[]}}]}`
	require.Equal(t, exitDone, netloom(t, "plan", "--server", server.URL, "-o", "json").code)
	require.Contains(t, netloom(t, "plan", "--server", server.URL, "-f", "x").errout, "expected only one of them")
	answer = `<html>`
	require.Contains(t, netloom(t, "plan", "--server", server.URL).errout, "not a list of plans")
}
