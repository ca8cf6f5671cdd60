package daemon_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/serve/web"
)

// page asks the web page of the rig, which is served within the bubble.
func page[T any](r *rig, path string) (out T) {
	r.Helper()
	answer := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(r.Context(), http.MethodGet, "http://localhost/api/v1/"+path, http.NoBody)
	r.page.ServeHTTP(answer, request)
	require.NoError(r, json.NewDecoder(answer.Body).Decode(&out), answer.Body.String())
	return out
}

func TestCNFsAreTargetsOfThePage(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.opts.UIListen = "127.0.0.1:0"
		a := r.CNF("cnf-0", "10.0.0.1")
		b := r.CNF("cnf-1", "10.0.0.2")
		r.Pod("cnf-2", "10.0.0.3", sdwantest.NotReady)
		r.Apply(sdwantest.Policy("both"))
		lost := sdwantest.Rule("lost", "10.2.0.0/24")
		lost.Spec.Policy = "missing"
		r.Apply(lost)
		b.Drop()
		r.start()
		list := page[struct{ Targets []web.Target }](r, "targets").Targets
		require.Len(t, list, 3)
		require.Equal(t, "openwrt/site/cnf-0", list[0].Name)
		require.Equal(t, web.InSync, list[0].Health)
		require.Equal(t, &web.CNF{Scope: "site/cnf", Group: "Pod", Node: "node", Address: "10.0.0.1"}, list[0].CNF)
		require.Equal(t, list[0].Wanted, list[0].Revision)
		require.Len(t, list[0].Skips, 1)
		require.NotEmpty(t, list[0].LastWrite.Ops)
		require.NotEmpty(t, list[1].Name)
		require.Equal(t, web.NotReady, list[2].Health)
		require.Equal(t, "the pod is not ready", list[2].Error)
		require.Equal(t, 3, page[web.Overview](r, "overview").CNFs)
		require.Empty(t, page[struct{ Targets []web.TargetRows }](r, "policies/site/none/rows").Targets)

		a.Hang()
		r.After(2 * time.Minute)
		list = page[struct{ Targets []web.Target }](r, "targets").Targets
		require.Equal(t, web.OutOfSync, list[0].Health)
		require.NotEmpty(t, list[0].LastError.Message)
	})
}
