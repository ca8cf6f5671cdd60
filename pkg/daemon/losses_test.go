package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/serve"
)

// ask sends a request to the daemon from its own machine.
func (r *rig) ask(method, path string) string {
	request := httptest.NewRequestWithContext(r.Context(), method, path, http.NoBody)
	request.RemoteAddr, request.Host = here, "localhost:8080"
	w := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(w, request)
	require.Equal(r, http.StatusOK, w.Code, w.Body.String())
	return w.Body.String()
}

// fourRules gives a device four rules, by a daemon that then ends.
func (r *rig) fourRules() {
	r.CNF("cnf-0", "10.0.0.1")
	r.Apply(sdwantest.Policy("both"))
	for i := range 4 {
		r.Apply(sdwantest.Rule(fmt.Sprintf("web%d", i), fmt.Sprintf("10.1.%d.0/24", i)))
	}
	r.start()
}

// lose makes the source not list the first rules.
func (r *rig) lose(n int) {
	for i := range n {
		r.Source.PutAs(object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: fmt.Sprintf("web%d", i)}, nil)
	}
}

func TestADeviceKeepsWhatIsMissingAtTheStart(t *testing.T) {
	inBubble(t, func(r *rig) {
		var lines bytes.Buffer
		r.Log = logrus.New()
		r.Log.SetOutput(&lines)
		r.fourRules()
		d := r.Devices["10.0.0.1"]
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
		r.stop()
		r.lose(3)
		r.Apply(sdwantest.Rule("new", "10.9.0.0/24"))
		r.start()
		for _, dst := range []string{"10.1.0.0/24", "10.1.1.0/24", "10.1.2.0/24", "10.1.3.0/24", "10.9.0.0/24"} {
			require.Equal(t, 1, sdwantest.RulesTo(d, dst), dst)
		}
		var k retention.Kept
		require.NoError(t, json.Unmarshal([]byte(r.ask(http.MethodGet, serve.ApprovePath)), &k))
		require.Len(t, k.Objects, 3)
		require.Equal(t, "openwrt/site/cnf-0", k.Objects[0].Target)
		require.Contains(t, r.ask(http.MethodGet, "/readyz"), "degraded: 3 mwan3/rules objects are missing from the source")
		require.Equal(t, 3, strings.Count(r.ask(http.MethodGet, "/debug/problems"),
			"target openwrt/site/cnf-0 keeps its configuration"))
		require.InDelta(t, 3, r.Metric("netloom_kept_objects", "mwan3/rules"), 0)
		require.InDelta(t, 3, r.Metric("netloom_problems", ""), 0)
		require.Regexp(t, "level=warning.*digest="+k.Digest+".*3 mwan3/rules objects", lines.String())

		r.ask(http.MethodPost, serve.ApprovePath+"?digest="+k.Digest)
		r.After(3 * time.Second)
		require.Zero(t, sdwantest.RulesTo(d, "10.1.0.0/24")+sdwantest.RulesTo(d, "10.1.1.0/24")+sdwantest.RulesTo(d, "10.1.2.0/24"))
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.3.0/24"))
		require.Empty(t, r.ask(http.MethodGet, "/debug/problems"))
		require.Contains(t, lines.String(), "missing objects are no longer kept in force")
	})
}

// TestADeviceKeepsNothingThatWentWhileTheDaemonRan deletes rules while the pod is not ready.
func TestADeviceKeepsNothingThatWentWhileTheDaemonRan(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.fourRules()
		d := r.Devices["10.0.0.1"]
		r.Pod("cnf-0", "10.0.0.1", sdwantest.NotReady)
		r.After(3 * time.Second)
		r.lose(3)
		r.After(3 * time.Second)
		require.Equal(t, 1, sdwantest.RulesTo(d, "10.1.0.0/24"))
		r.Pod("cnf-0", "10.0.0.1")
		r.After(3 * time.Second)
		require.Zero(t, sdwantest.RulesTo(d, "10.1.0.0/24")+sdwantest.RulesTo(d, "10.1.1.0/24")+sdwantest.RulesTo(d, "10.1.2.0/24"))
	})
}
