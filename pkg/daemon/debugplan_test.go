package daemon_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/serve"
)

// debugPlan asks the daemon of the rig for plans.
func (r *rig) debugPlan(query string) (int, string) {
	r.Helper()
	answer := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/debug/plan"+query, http.NoBody))
	return answer.Code, answer.Body.String()
}

func TestPlansAreMadeForCNFs(t *testing.T) {
	inBubble(t, func(r *rig) {
		a, b := r.CNF("cnf-0", "10.0.0.1"), r.CNF("cnf-1", "10.0.0.2")
		r.Pod("cnf-2", "10.0.0.3", sdwantest.NotReady)
		r.Apply(sdwantest.Policy("both"))
		r.start()
		r.After(10 * time.Second)
		name := regexp.MustCompile(`config policy '?(n\w+)`).FindStringSubmatch(a.Export("mwan3"))
		require.Len(t, name, 2, a.Export("mwan3"))
		require.Equal(t, 1, a.RemoveSection("mwan3", "policy", name[1]))
		code, body := r.debugPlan("")
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, body, "openwrt/site/cnf-0:\n+ mwan3/policies ")
		require.Contains(t, body, "(Mwan3Policy/site/both)")
		require.Contains(t, body, "openwrt/site/cnf-1:\nnothing to do\n")
		require.Contains(t, body, "openwrt/site/cnf-2:\nerror: the pod is not ready\n")

		code, body = r.debugPlan("?target=openwrt/site/cnf-1")
		require.Equal(t, http.StatusOK, code)
		require.Equal(t, "nothing to do\n", body)
		code, _ = r.debugPlan("?target=openwrt/site/none")
		require.Equal(t, http.StatusBadGateway, code)

		b.Hang()
		before := time.Now()
		_, body = r.debugPlan("?output=json")
		require.Less(t, time.Since(before), time.Minute)
		var plans serve.Plans
		require.NoError(t, json.Unmarshal([]byte(body), &plans))
		require.Len(t, plans.Targets, 3)
		require.NotNil(t, plans.Targets[0].Plan)
		require.NotEmpty(t, plans.Targets[1].Error)
		require.False(t, plans.Empty())
	})
}
