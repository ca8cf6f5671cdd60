package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/serve"
	"github.com/netloom/netloom/translator"
)

// rule is a policy of pods with a label app, which admits every source at a port; none at port 0.
func rule(name, app string, port int) string {
	text := fmt.Sprintf("---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: %s, namespace: shop}\n"+
		"spec:\n  podSelector: {matchLabels: {app: %s}}\n", name, app)
	if port == 0 {
		return text + "  policyTypes: [Ingress]\n"
	}
	return text + fmt.Sprintf("  ingress:\n  - ports: [{port: %d}]\n", port)
}

// guardedPlace has a file for each of three policies, and a daemon that keeps what goes missing.
func guardedPlace(t *testing.T) (*place, daemon.Options) {
	t.Helper()
	p := newPlace(t)
	p.remove(t, "policies.yaml")
	p.write(t, "a.yaml", rule("a", "web", 81))
	p.write(t, "b.yaml", rule("b", "db", 82))
	p.write(t, "c.yaml", rule("c", "web", 83))
	opts := p.options()
	opts.Reconcile.MaxDeleteFraction, opts.Reconcile.MinDeleteGuard = 0.5, 3
	return p, opts
}

func (p *place) allows(port int) bool {
	return strings.Contains(p.server.Dump("ACL"), fmt.Sprintf("tcp.dst == %d", port))
}

// denies reports whether the ACLs that isolate are there.
func (p *place) denies() bool {
	return strings.Contains(p.server.Dump("ACL"), "netloom default deny ingress")
}

// send sends a request to the daemon from an address.
func (r *running) send(method, path, from string, headers ...string) (int, string) {
	request := httptest.NewRequestWithContext(r.t.Context(), method, path, http.NoBody)
	request.RemoteAddr, request.Host = from, "localhost:8080"
	for _, h := range headers {
		request.Header.Set(h, "x")
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, request)
	return w.Code, w.Body.String()
}

const here = "127.0.0.1:4711"

// kept is what the daemon keeps.
func (r *running) kept() retention.Kept {
	code, body := r.send(http.MethodGet, serve.ApprovePath, here)
	require.Equal(r.t, http.StatusOK, code)
	var k retention.Kept
	require.NoError(r.t, json.Unmarshal([]byte(body), &k))
	return k
}

func (r *running) awaitKept(n int) retention.Kept {
	r.t.Helper()
	r.await(fmt.Sprintf("%d objects kept", n), func() bool { return len(r.kept().Objects) == n })
	return r.kept()
}

func TestWhatClosesGoesOnWhilePoliciesAreMissing(t *testing.T) {
	t.Parallel()
	p, opts := guardedPlace(t)
	r := startReady(t, opts)
	p.remove(t, "a.yaml", "b.yaml")
	p.write(t, "new.yaml", rule("new", "cache", 0)) // a new deny
	p.write(t, "pod.yaml", `
apiVersion: v1
kind: Pod
metadata: {name: db-9, namespace: shop, labels: {app: db}}
status: {phase: Running, podIP: 10.244.0.99}
`) // a new pod of a policy that is missing
	require.NoError(t, p.server.AddPort("sw", "shop_db-9", nil))
	k := r.awaitKept(2)
	require.Equal(t, []retention.KeptObject{
		{Kind: "NetworkPolicy", Namespace: "shop", Name: "a"}, {Kind: "NetworkPolicy", Namespace: "shop", Name: "b"},
	}, k.Objects)
	r.await("the new pod is isolated", func() bool { return strings.Count(p.server.Dump("Port_Group"), "shop_db-9") == 2 })
	require.True(t, p.allows(81) && p.allows(82) && p.allows(83) && p.denies())

	code, body := r.get("/readyz")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "degraded: 2 NetworkPolicy objects are missing from the source and kept in force")
	require.Contains(t, body, "netloom approve "+k.Digest)
	require.InDelta(t, 2, r.metric("netloom_kept_objects"), 0)
	require.InDelta(t, 1, r.metric("netloom_target_up"), 0)
	_, problems := r.get("/debug/problems")
	require.Equal(t, 2, strings.Count(problems, "missing from the source"))

	p.write(t, "c.yaml", rule("c", "web", 84)) // an edit
	r.await("the edit", func() bool { return p.allows(84) && !p.allows(83) })
	p.write(t, "a.yaml", rule("a", "web", 85)) // one comes back, changed
	r.await("the policy that is back", func() bool { return p.allows(85) && !p.allows(81) })
	require.Len(t, r.kept().Objects, 1)
}

func TestAnEditOfAllPoliciesIsNoLoss(t *testing.T) {
	p, opts := guardedPlace(t)
	p.write(t, "d.yaml", rule("d", "db", 84))
	r := startReady(t, opts)
	r.edit(func() {
		temporary := t.TempDir()
		for i, name := range []string{"a", "b", "c", "d"} {
			file := filepath.Join(temporary, name)
			require.NoError(t, os.WriteFile(file, []byte(rule(name, "web", 91+i)), 0o600))
			require.NoError(t, os.Rename(file, filepath.Join(p.dir, name+".yaml")))
		}
	})
	r.await("all of it", func() bool { return p.allows(91) && p.allows(92) && p.allows(93) && p.allows(94) && !p.allows(84) })
	require.Empty(t, r.kept().Objects)
}

func TestARemovalIsApprovedByItsDigestAlone(t *testing.T) {
	t.Parallel()
	p, opts := guardedPlace(t)
	r := startReady(t, opts)
	code, body := r.send(http.MethodPost, serve.ApprovePath+"?digest=abc", here)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, body, "nothing is kept")

	p.remove(t, "a.yaml", "b.yaml")
	old := r.awaitKept(2)
	p.remove(t, "c.yaml")
	k := r.awaitKept(3)
	require.NotEqual(t, old.Digest, k.Digest)
	approve := serve.ApprovePath + "?digest="
	code, body = r.send(http.MethodPost, approve+old.Digest, here)
	require.Equal(t, http.StatusConflict, code)
	require.Contains(t, body, old.Digest+": the kept objects have changed, there are 3 now: review them, then approve "+k.Digest)

	for name, from := range map[string][]string{
		"another machine": {"192.0.2.7:4711"}, "a web page": {here, "Origin"}, "a link of a page": {here, "Sec-Fetch-Site"},
	} {
		code, _ = r.send(http.MethodPost, approve+k.Digest, from[0], from[1:]...)
		require.Equal(t, http.StatusForbidden, code, name)
	}
	require.True(t, p.denies())

	code, _ = r.send(http.MethodPost, approve+k.Digest, here)
	require.Equal(t, http.StatusOK, code)
	r.await("the policies are gone", func() bool { return p.owned(t, "netloom") == 0 })
	require.Empty(t, r.kept().Objects)
	_, body = r.get("/readyz")
	require.True(t, isWell(body), body)
}

func TestAnEmptyDirectoryAtTheStartOpensNothing(t *testing.T) {
	p, opts := guardedPlace(t)
	startReady(t, opts).stop()
	rows := p.rows()
	p.remove(t, "a.yaml", "b.yaml", "c.yaml", "pods.yaml")

	r := startReady(t, opts)
	require.Equal(t, rows, p.rows())
	_, body := r.get("/readyz")
	require.Contains(t, body, "degraded: 3 NetworkPolicy objects, 3 isolated logical ports are missing from the source")
	r.await("a problem for each", func() bool {
		_, problems := r.get("/debug/problems")
		return strings.Count(problems, "target ovn keeps its configuration") == 6 && strings.Contains(problems, "NetworkPolicy/shop/a: ")
	})
	p.write(t, "new.yaml", podsFile+rule("new", "db", 99))
	r.await("what is new", func() bool { return p.allows(99) })
	require.True(t, p.allows(81) && p.allows(82) && p.allows(83))

	p.write(t, "a.yaml", rule("a", "web", 81)) // one is back, with its two pods
	r.await("it is not missing any more", func() bool { return len(r.kept().Objects) == 2 })
	k := r.kept()
	code, body := r.send(http.MethodPost, serve.ApprovePath+"?digest="+k.Digest, here)
	require.Equal(t, http.StatusOK, code, body)
	r.await("the others are gone", func() bool { return !p.allows(82) && !p.allows(83) })
	require.True(t, p.allows(81) && p.allows(99) && p.denies())
	require.InDelta(t, 0, r.metric("netloom_drift_found_total"), 0)
}

// TestAnEmptiedDirectoryOpensNothing empties the directory of a running daemon: it has two policies, of a namespace that no document
// declares.
func TestAnEmptiedDirectoryOpensNothing(t *testing.T) {
	t.Parallel()
	p, opts := guardedPlace(t)
	p.remove(t, "c.yaml")
	_, pods, _ := strings.Cut(podsFile, "---")
	p.write(t, "pods.yaml", pods)
	r := startReady(t, opts)
	rows := p.rows()
	p.remove(t, "a.yaml", "b.yaml", "pods.yaml")
	r.awaitKept(5)
	require.Equal(t, rows, p.rows())
	require.True(t, p.denies())
	k := r.kept()
	code, body := r.send(http.MethodPost, serve.ApprovePath+"?digest="+k.Digest, here)
	require.Equal(t, http.StatusOK, code, body)
	r.await("everything is gone", func() bool { return p.owned(t, "netloom") == 0 })
}

func TestForceIsSpentOnce(t *testing.T) {
	t.Parallel()
	p, opts := guardedPlace(t)
	startReady(t, opts).stop()
	p.remove(t, "b.yaml", "c.yaml")
	opts.Force = true
	r := startReady(t, opts)
	require.True(t, p.allows(81))
	require.False(t, p.allows(82) || p.allows(83))
	p.write(t, "b.yaml", rule("b", "db", 82)+rule("c", "db", 83))
	r.await("two more", func() bool { return p.allows(82) && p.allows(83) })
	p.remove(t, "a.yaml", "b.yaml")
	r.awaitKept(3)
	require.True(t, p.allows(81) && p.allows(82) && p.allows(83))
}

// TestPoliciesOfAClusterThatAreMissing loses every policy in a relist.
func TestPoliciesOfAClusterThatAreMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := pipelinetest.New()
		p := pipeline.New(retention.NewSource(source, retention.Options{Fraction: 0.5}), translator.Options{}, testLog(t))
		go func() { _ = p.Run(t.Context()) }()
		web, db := pipelinetest.Pod("web", "web", "n1", "10.0.0.1"), pipelinetest.Pod("db", "db", "n1", "10.0.0.2")
		source.Put(pipelinetest.Namespace("shop"), web, db)
		policies := []string{"a", "b", "c", "d"}
		for _, name := range policies {
			source.Put(pipelinetest.Policy(name, "missing", "db"))
		}
		source.Sync()
		synctest.Wait()
		require.False(t, pipelinetest.Admits(p.Latest(), web, db))

		for _, name := range policies { // a relist without them, which arrives one by one
			source.Lose(pipelinetest.Policy(name, "missing", "db"))
			synctest.Wait()
			require.False(t, pipelinetest.Admits(p.Latest(), web, db))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.False(t, pipelinetest.Admits(p.Latest(), web, db))
		require.Len(t, p.Kept(), 4)
		require.Len(t, p.Problems(), 4)

		fresh := pipelinetest.Pod("db-2", "db", "n1", "10.0.0.3")
		source.Put(fresh)
		synctest.Wait()
		require.False(t, pipelinetest.Admits(p.Latest(), web, fresh), "a new pod of a policy that is kept")

		source.Remove(pipelinetest.Namespace("shop"))
		synctest.Wait()
		require.Empty(t, p.Kept(), "the deletion of the namespace was seen")
		require.True(t, pipelinetest.Admits(p.Latest(), web, db))
	})
}

func TestAMassDeletionOfPoliciesGoesThroughAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := pipelinetest.New()
		p := pipeline.New(retention.NewSource(source, retention.Options{Fraction: 0.5}), translator.Options{}, testLog(t))
		go func() { _ = p.Run(t.Context()) }()
		for i := range 100 {
			source.Put(pipelinetest.Policy(fmt.Sprintf("p%d", i), "web", "db"))
		}
		source.Sync()
		synctest.Wait()
		for i := range 60 {
			source.Remove(pipelinetest.Policy(fmt.Sprintf("p%d", i), "web", "db"))
		}
		synctest.Wait()
		require.Equal(t, 40, p.Stats().Policies)
		require.Empty(t, p.Kept())
	})
}

// TestAnUnreadableFileAtTheStartOpensNothing restarts a daemon while one of its policies cannot be parsed.
func TestAnUnreadableFileAtTheStartOpensNothing(t *testing.T) {
	p, opts := guardedPlace(t)
	r := startReady(t, opts)
	r.stop()
	p.write(t, "b.yaml", "[a\nb")
	p.write(t, "c.yaml", rule("c", "web", 93)) // what can be read takes effect
	r = startReady(t, opts)
	r.awaitKept(2) // the policy and the port that only it isolates
	require.True(t, p.allows(82) && p.allows(93) && p.denies() && !p.allows(83))
	require.Contains(t, p.server.Dump("Port_Group"), "shop_db-0")
	_, body := r.get("/readyz")
	require.Regexp(t, "(?m)^degraded: .*/b.yaml: document 1 ", body)
	require.Contains(t, body, "missing from the source and kept in force")

	p.write(t, "b.yaml", rule("b", "db", 92))
	r.await("the repaired policy", func() bool { return p.allows(92) && !p.allows(82) })
	require.Empty(t, r.kept().Objects)
}
