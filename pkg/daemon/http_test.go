package daemon_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/test/await"
)

func TestHandlerBeforeAnythingRuns(t *testing.T) {
	p := newSilentPlace(t)
	d, err := daemon.New(p.options(), testLog(t))
	require.NoError(t, err)
	t.Cleanup(d.Close)
	r := &running{Daemon: d, t: t, handler: d.Handler()}
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusServiceUnavailable, "/metrics": http.StatusOK,
		"/debug/snapshot": http.StatusServiceUnavailable, "/debug/plan": http.StatusServiceUnavailable,
		"/debug/problems": http.StatusOK, "/": http.StatusNotFound,
	} {
		code, body := r.get(path)
		require.Equal(t, want, code, path)
		if want == http.StatusServiceUnavailable {
			require.Contains(t, body, "the source has not synced\n", path)
		}
	}
}

func TestHandlerOfADaemonAtWork(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.True(t, isWell(body), body)
	_, body = r.get("/debug/plan")
	require.Equal(t, "nothing to do\n", body)

	_, body = r.get("/debug/rounds")
	require.Regexp(t, `(?m)^TARGET +BEGAN +CHANGES +OPERATIONS +TRANSACTIONS +SNAPSHOTS +WAIT +PLAN +ORDER +SEND +COMMIT\novn +[0-9:.]+ +all +[1-9]`, body)

	_, body = r.get("/metrics")
	for _, name := range []string{
		"netloom_build_info", "netloom_events_total", "netloom_ops_total",
		"netloom_owned_rows", "netloom_plan_duration_seconds", "netloom_apply_duration_seconds", "netloom_problems",
		"netloom_drift_found_total", "netloom_kept_objects", "netloom_round_operations", "netloom_round_stage_seconds", "netloom_target_up", "netloom_translations_total",
		"go_goroutines", "process_open_fds",
	} {
		require.Contains(t, body, "# TYPE "+name+" ")
	}
	require.InDelta(t, 1, r.metric("netloom_target_up"), 0)
	require.InDelta(t, 3, r.metric("netloom_endpoints"), 0)
	require.InDelta(t, p.owned(t, "netloom"), r.metric("netloom_owned_rows"), 0)

	r.edit(func() { p.moveDatabase(t) })
	require.Positive(t, r.metric("netloom_event_to_commit_seconds_count"))
	_, body = r.get("/debug/plan")
	require.Equal(t, "nothing to do\n", body)
}

func TestDebugSnapshot(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.options())
	_, body := r.get("/debug/snapshot")
	var got struct {
		Revision int
		Sets     []struct {
			ID, Title string
			Members   []string
		}
		Policies []struct {
			Origin, Direction, Subject string
			Isolates                   bool
			Rules                      []struct {
				Path, Action, Peer string
				Ports              []string
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &got))
	require.Positive(t, got.Revision)
	members := map[string][]string{}
	for _, set := range got.Sets {
		members[set.ID] = set.Members
	}
	require.Len(t, got.Policies, 2)
	for _, policy := range got.Policies {
		if policy.Origin != "NetworkPolicy/shop/db" {
			continue
		}
		require.Equal(t, "ingress", policy.Direction)
		require.True(t, policy.Isolates)
		require.Equal(t, []string{"shop/db-0"}, members[policy.Subject])
		require.Len(t, policy.Rules, 1)
		require.Equal(t, "allow", policy.Rules[0].Action)
		require.Equal(t, "spec.ingress[0]", policy.Rules[0].Path)
		require.Equal(t, []string{"tcp/5432"}, policy.Rules[0].Ports)
		require.Equal(t, []string{"shop/web-0", "shop/web-1"}, members[policy.Rules[0].Peer])
		return
	}
	require.Fail(t, "no policy of shop/db", body)
}

func TestOnePlanIsMadeAtATime(t *testing.T) {
	p := newSilentPlace(t)
	r := start(t, p.options())
	r.await("a snapshot", func() bool { return r.Pipeline().Latest() != nil })
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answers := make(chan *httptest.ResponseRecorder, 2)
	for range 2 { // each would wait for the database
		go func() {
			w := httptest.NewRecorder()
			r.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/debug/plan", http.NoBody))
			answers <- w
		}()
	}
	first := <-answers
	require.Equal(t, http.StatusServiceUnavailable, first.Code)
	require.Equal(t, "a plan is being made for another request; try again when that is done\n", first.Body.String())
	cancel()
	require.Equal(t, http.StatusBadGateway, (<-answers).Code)
	require.NoError(t, p.server.Start(p.socket))
	code, _ := r.get("/debug/plan")
	require.Equal(t, http.StatusOK, code, "the next is welcome")
}

func TestProfilesAreServedOnlyWhenAskedFor(t *testing.T) {
	p := newPlace(t)
	paths := []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol"}
	for _, asked := range []bool{false, true} {
		opts := p.options()
		opts.Pprof = asked
		r := start(t, opts)
		for _, path := range paths {
			code, _ := r.get(path)
			require.Equal(t, asked, code == http.StatusOK, "%s: %d", path, code)
		}
	}
}

func TestTheServerListensAndStops(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	opts.Listen = "127.0.0.1:0"
	log, hook := logtest.NewNullLogger()
	log.SetLevel(logrus.InfoLevel)
	d, err := daemon.New(opts, log)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	r := startMade(t, d)
	var address string
	r.await("the server", func() bool {
		for _, e := range hook.AllEntries() {
			if a, ok := e.Data["address"].(string); ok {
				address = a
			}
		}
		return address != ""
	})
	ask := func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", http.NoBody)
		require.NoError(t, err)
		return http.DefaultClient.Do(request)
	}
	response, err := ask()
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, "ok", strings.TrimSpace(string(body)))

	second := p.options()
	second.Listen = address
	other, err := daemon.New(second, testLog(t))
	require.NoError(t, err)
	defer other.Close()
	require.ErrorContains(t, other.Run(t.Context()), "serve: ", "an address that is taken ends the daemon")

	r.stop()
	http.DefaultClient.CloseIdleConnections()
	response, err = ask()
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err)
}

// TestReadinessNamesUnreadableFiles starts with a document that cannot be parsed, and has a file go blank later.
func TestReadinessNamesUnreadableFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, "broken.yaml", "[a\nb")
	r := startReady(t, p.options())
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Regexp(t, `(?m)^degraded: .*/broken.yaml: document 1 cannot be read; .*: line 2: did not find`, body)
	owned := p.owned(t, "netloom")
	p.write(t, "policies.yaml", "# nothing\n")
	await.True(t, func() bool {
		_, body = r.get("/readyz")
		return strings.Contains(body, "the file no longer declares anything")
	}, "the file to be missed")
	require.Regexp(t, `(?m)^degraded: .*/policies.yaml cannot be read`, body)
	require.Equal(t, owned, p.owned(t, "netloom"), "the policies are still in force")
	require.InDelta(t, p.owned(t, "netloom"), r.metric("netloom_owned_rows"), 0)
}

// TestReadinessNamesWhatIsDegradedWhileATargetIsOutOfSync lists the document that cannot be parsed beside the database that
// does not answer.
func TestReadinessNamesWhatIsDegradedWhileATargetIsOutOfSync(t *testing.T) {
	p := newSilentPlace(t)
	p.write(t, "broken.yaml", "[a\nb")
	r := start(t, p.options())
	r.await("a snapshot", func() bool { return r.Pipeline().Latest() != nil })
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Regexp(t, `(?m)^target ovn `, body)
	require.Regexp(t, `(?m)^degraded: .*/broken.yaml: document 1 `, body)
}
