package demo

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/examples"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/schema"
	simulator "github.com/netloom/netloom/pkg/simulator/ovn"
	"github.com/netloom/netloom/test/await"
)

// screen is what a demo prints on. Every write wakes those who wait for a text.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	woke chan struct{}
}

func newScreen() *screen { return &screen{woke: make(chan struct{}, 1)} }

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.woke <- struct{}{}:
	default:
	}
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the screen shows want after the first from bytes.
func (s *screen) await(t *testing.T, from int, want string) {
	t.Helper()
	limit := await.Context(t).Done()
	for !strings.Contains(s.String()[from:], want) {
		select {
		case <-s.woke:
		case <-limit:
			require.Contains(t, s.String()[from:], want)
		}
	}
}

func testLog(t *testing.T) *logrus.Logger {
	log := logrus.New()
	log.SetOutput(t.Output())
	return log
}

// copyOfExamples is a directory to edit.
func copyOfExamples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, examples.Files))
	return dir
}

// edit replaces old by new in a file, once, by a rename.
func edit(t *testing.T, path, old, replacement string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	next := filepath.Join(t.TempDir(), "next")
	require.NoError(t, os.WriteFile(next, []byte(strings.Replace(string(content), old, replacement, 1)), 0o600))
	require.NoError(t, os.Rename(next, path))
}

func TestOnceShowsRowsAndAnswers(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true}, &out, testLog(t)))
	text := out.String()
	for _, want := range []string{
		`^Written: \d+ operations in 1 transaction: create ACL ×\d+, create Address_Set ×\d+, `,
		`\n7 endpoints, \d+ sets, 11 policies, 5 load balancers\n`,
		`\nPort groups \(\d+\)\n  NAME +HOLDS +LOGICAL PORTS +ACLS\n`,
		`\nAddress sets \(\d+\)\n  NAME +HOLDS +ADDRESSES\n`,
		`\nACLs \(\d+\)\n  FROM +DIRECTION +PRIO +ACTION +MATCH\n`,
		`\n  nlpg_[0-9a-f]{6} +pods app=db in namespace shop +shop_db-0 +\d+\n`,
		`\n  NetworkPolicy shop/db ingress\[0\] +to-lport +2002 +allow-related +outport == @nlpg_[0-9a-f]{6} && ip4\.src == \$nlas_[0-9a-f]{6}_v4 && tcp\.dst == 5432\n`,
		`\n  \(every policy\) +to-lport +2000 +drop +outport == @nlpg_[0-9a-f]{6} && ip\n`,
		`\n  allow  203\.0\.113\.7 -> shop/web-0 tcp/8080 +ingress: shop/web ingress\[0\]\n`,
		`\n  allow  2001:db8::7 -> shop/web-0 tcp/8080 `,
		`\n  deny   shop/web-0 -> shop/api-1 tcp/9000 +egress: `,
		`\n  allow  node-b -> shop/db-0 tcp/5432 `,
		`\nLoad balancers \(6\)\n  NAME +VIP +BACKENDS\n`,
		`\n  shop/api:tcp:cluster +10\.96\.0\.20:80 +10\.244\.1\.20:9000 10\.244\.2\.20:9001\n`,
		`\n  shop/cache:tcp:cluster +10\.96\.0\.40:6379 +-\n`,
		`\n  allow  shop/web-0 -> svc/shop/api tcp/80 +to 10\.244\.1\.20:9000 or 10\.244\.2\.20:9001; ingress: shop/api ingress\[0\]\n`,
		`\n  deny   shop/web-1 -> svc/shop/db tcp/5432 +to 10\.244\.2\.30:5432; egress: netloom default deny egress\n`,
		`\n  deny   monitoring/prometheus-0 -> svc/shop/web tcp/80 +to [0-9.:]+ or [0-9.:]+; ingress: netloom default deny ingress\n`,
		`\n  refuse shop/web-0 -> svc/shop/cache tcp/6379 +shop/cache:tcp:cluster has no backend\n`,
	} {
		require.Regexp(t, want, text)
	}
	require.NotContains(t, text, "← unexpected")
	require.NotContains(t, text, "\x1b[")
	require.NotContains(t, text, "Watching.")
	probes, err := readProbes(copyOfExamples(t), probesFile)
	require.NoError(t, err)
	require.Len(t, regexp.MustCompile(`\n  (allow |deny  |refuse) `).FindAllString(text, -1), len(probes))
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "nothing is left behind")
}

func TestColorsAreForTerminals(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true, Color: true}, &out, testLog(t)))
	require.Contains(t, out.String(), "\x1b[31mdeny  \x1b[0m")
	require.Contains(t, out.String(), "\x1b[32mallow \x1b[0m")
}

func TestAnAnswerThatWasNotExpectedFails(t *testing.T) {
	dir := copyOfExamples(t)
	edit(t, filepath.Join(dir, "probes.txt"), "node-a -> shop/db-0 tcp/5432 deny", "node-a -> shop/db-0 tcp/5432 allow")
	var out bytes.Buffer
	err := Run(t.Context(), Options{Manifests: dir, Once: true}, &out, testLog(t))
	require.EqualError(t, err, "1 probes were not answered as expected")
	require.Regexp(t, `  deny   node-a -> shop/db-0 tcp/5432 .*← unexpected\n`, out.String())
}

func TestProbesThatCannotBeAsked(t *testing.T) {
	for _, tc := range []struct{ name, line, want string }{
		{"a pod that is not there", "shop/web-0 -> shop/missing tcp/80 deny", "shop/missing is not a known pod, Service, node or address"},
		{"a service that is not there", "shop/web-0 -> svc/shop/missing tcp/80 deny", "svc/shop/missing is not a known pod, Service, node or address"},
		{"no family in common", "203.0.113.7 -> 2001:db8::7 tcp/80 deny", "the ends have no address family in common"},
		{"too few words", "shop/web-0 shop/db-0 tcp/80", `"shop/web-0 shop/db-0 tcp/80": expected FROM -> TO PROTOCOL/PORT allow|deny|refuse`},
		{"an invalid protocol", "a -> b http/80 deny", `"http/80": expected a protocol and port such as tcp/80`},
		{"an invalid port", "a -> b tcp/99999 deny", `"tcp/99999": expected a protocol and port such as tcp/80`},
		{"an invalid answer", "a -> b tcp/80 maybe", `"maybe": expected allow, deny or refuse`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := copyOfExamples(t)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "probes.txt"), []byte("# why\n\n"+tc.line+"\n"), 0o600))
			err := Run(t.Context(), Options{Manifests: dir, Once: true}, io.Discard, testLog(t))
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, err, "probe")
		})
	}
}

func TestADirectoryWithoutProbes(t *testing.T) {
	dir := copyOfExamples(t)
	require.NoError(t, os.Remove(filepath.Join(dir, "probes.txt")))
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Manifests: dir, Once: true}, &out, testLog(t)))
	require.NotContains(t, out.String(), "Can A reach B?")
}

func TestAnEditIsShownWithItsRows(t *testing.T) {
	dir := copyOfExamples(t)
	out := newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Manifests: dir}, out, testLog(t)) }()
	stop := sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	out.await(t, 0, "The database: ovn-nbctl --db=unix:")
	require.Contains(t, out.String(), "Watching. Edit a file in "+dir)

	shows := func(what, file, old, replacement string, wants ...string) {
		t.Helper()
		from := len(out.String())
		edit(t, filepath.Join(dir, "shop", file), old, replacement)
		for _, want := range wants {
			out.await(t, from, want)
		}
		t.Logf("%s: shown", what)
	}
	shows("an endpoint is not ready any more", "services.yaml", "[10.244.2.20], nodeName: node-b, conditions: {ready: true}",
		"[10.244.2.20], nodeName: node-b, conditions: {ready: false}", "revision 2, written in ", "~ Load_Balancer shop/api:tcp:cluster",
		"    vips: +10.96.0.20:80=10.244.1.20:9000 -10.96.0.20:80=10.244.1.20:9000,10.244.2.20:9001\n", "1 operation in 1 transaction: mutate Load_Balancer ×1")
	shows("a pod leaves its set", "pods.yaml", "name: web-1, namespace: shop, labels: {app: web}", "name: web-1, namespace: shop, labels: {app: old}",
		"revision 3, written in ", "~ Address_Set ", "(pods app=web in namespace shop)", "addresses: -10.244.2.10", "ports: -",
		"4 operations in 1 transaction: mutate Address_Set ×2, mutate Port_Group ×2")
	shows("a policy names another port", "policies.yaml", "ports: [{port: 5432}]", "ports: [{port: 5433}]", "+ ACL ", "tcp.dst == 5433", "delete ACL ×")
	shows("a document goes bad", "policies.yaml", "policyTypes: [Ingress, Egress]", "policyTypes: [Sideways]")
	shows("and another is edited", "pods.yaml", "labels: {app: old}", "labels: {app: web}",
		"+10.244.2.10", "/shop/policies.yaml: document 1: NetworkPolicy/shop/default-deny: spec.policyTypes[0]: ")

	require.NoError(t, stop(), "Ctrl-C is not a failure")
}

// TestAnEmptyDirectoryWaitsForFiles adds what is awaited.
func TestAnEmptyDirectoryWaitsForFiles(t *testing.T) {
	dir, out := t.TempDir(), newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Manifests: dir}, out, testLog(t)) }()
	out.await(t, 0, "Waiting for manifests. Add a NetworkPolicy or a Service to "+dir)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "torn.yaml"), []byte("a: [b"), 0o600))
	out.await(t, 0, "! "+filepath.Join(dir, "torn.yaml"))
	require.NoError(t, os.CopyFS(dir, examples.Files))
	out.await(t, 0, "Watching.")
	require.Equal(t, 1, strings.Count(out.String(), "Waiting"))
	cancel()
	require.NoError(t, <-ended)
}

func TestADirectoryWithoutManifestsFailsOnce(t *testing.T) {
	dir := t.TempDir()
	err := Run(t.Context(), Options{Manifests: dir, Once: true}, io.Discard, testLog(t))
	require.EqualError(t, err, "no NetworkPolicies or Services in "+dir+": nothing was written")
	err = Run(t.Context(), Options{Manifests: filepath.Join(dir, "none")}, io.Discard, testLog(t))
	require.ErrorIs(t, err, os.ErrNotExist, "which ends the demo")
}

func TestTheFirstPlanIsShownThoughWrittenBeforeTheDemoConnected(t *testing.T) {
	server, err := simulator.NewServer(schema.NB2303())
	require.NoError(t, err)
	t.Cleanup(server.Close)
	require.NoError(t, server.Start("tcp:127.0.0.1:0"))
	client, err := ovsdb.New(ovsdb.Options{Endpoints: []string{server.Addr()}, Log: testLog(t)})
	require.NoError(t, err)
	s := &show{w: io.Discard, client: client, target: "ovn", changes: make(chan change, 1)}
	plan := &backends.Plan{Revision: 1}
	s.Applied("ovn", plan, time.Millisecond)
	got := make(chan change, 1)
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := s.first(ctx, true)
		got <- c
		failed <- err
	}()
	await.True(t, func() bool { return len(s.changes) == 0 }, "the plan is taken")
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	select {
	case c := <-got:
		require.NoError(t, <-failed)
		require.Same(t, plan, c.plan)
	case <-await.Context(t).Done():
		require.Fail(t, "the plan was lost")
	}
	cancel()
	require.NoError(t, <-ended)
}

func TestASlowPrinterDelaysNothing(t *testing.T) {
	s := &show{target: "ovn", changes: make(chan change, 2)}
	for range 5 {
		s.Applied("ovn", &backends.Plan{}, 0)
		s.Applied("another", &backends.Plan{}, 0)
	}
	require.Len(t, s.changes, 2)
}
