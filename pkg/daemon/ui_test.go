package daemon_test

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/test/await"
)

// uiOf asks the web page of a daemon for a path of its API, and reads the answer.
func uiOf[T any](t *testing.T, r *running, path string) (out T) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.UIAddress()+"api/v1/"+path, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	require.NoError(t, json.NewDecoder(response.Body).Decode(&out))
	return out
}

// withUI are options with a web page on any free port.
func (p *place) withUI() daemon.Options {
	opts := p.options()
	opts.UIListen = "127.0.0.1:0"
	return opts
}

func TestThePageIsServedOnlyWhenAskedFor(t *testing.T) {
	p := newSilentPlace(t)
	d, err := daemon.New(p.options(), testLog(t))
	require.NoError(t, err)
	defer d.Close()
	require.Empty(t, d.UIAddress())

	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for a moment
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	opts := p.options()
	opts.UIListen = taken.Addr().String()
	_, err = daemon.New(opts, testLog(t))
	require.ErrorContains(t, err, "web page: listen tcp")
}

func TestThePageShowsWhatTheDaemonDoes(t *testing.T) {
	p := newPlace(t)
	r := startReady(t, p.withUI())
	overview := uiOf[web.Overview](t, r, "overview")
	require.Equal(t, 3, overview.Pods)
	require.Equal(t, 2, overview.Policies)
	require.Empty(t, overview.Problems)

	targets := uiOf[struct{ Targets []web.Target }](t, r, "targets")
	require.Len(t, targets.Targets, 1)
	target := targets.Targets[0]
	require.Equal(t, "ovn", target.Name)
	require.Equal(t, web.InSync, target.Health)
	require.True(t, *target.Up)
	require.Equal(t, p.owned(t, "netloom"), target.Owned)
	require.Equal(t, overview.Revision, target.Revision)
	require.Positive(t, target.Latency)
	require.Contains(t, target.LastWrite.Summary, "create ACL")
	require.NotEmpty(t, target.LastWrite.Ops)
	require.Positive(t, target.LastWrite.Applied)

	rows := uiOf[struct{ Targets []web.TargetRows }](t, r, "policies/shop/db/rows").Targets[0]
	require.Empty(t, rows.Error)
	require.Positive(t, rows.Counts["ACL"])
	require.Equal(t, 1, rows.Counts["Port_Group"], "its own, not that of the other policy")
	require.Equal(t, 1, rows.Counts["Address_Set"])
	for _, row := range rows.Rows {
		require.NotContains(t, row.Name, "foreign")
		require.NotEmpty(t, row.UUID)
	}
	why := uiOf[web.Why](t, r, "why?from=shop/web-0&to=shop/db-0&port=5432")
	require.Equal(t, "allow", string(why.Answers[0].Verdict))
}

func TestARowThatPoliciesShareIsShownForEach(t *testing.T) {
	p := newPlace(t)
	p.write(t, "twin.yaml", strings.Replace(policiesFile[strings.Index(policiesFile, "---")+4:], "name: db,", "name: twin,", 1))
	r := startReady(t, p.withUI())
	for name, other := range map[string]string{"db": "NetworkPolicy/shop/twin", "twin": "NetworkPolicy/shop/db"} {
		rows := uiOf[struct{ Targets []web.TargetRows }](t, r, "policies/shop/"+name+"/rows").Targets[0]
		var also []string
		for _, row := range rows.Rows {
			if row.Rule == "ingress[0]" {
				also = append(also, row.Also)
			}
		}
		require.Equal(t, []string{other + " spec.ingress[0]"}, also, name)
	}
}

func TestThePageFollowsAnEdit(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := startReady(t, p.withUI())
	before := uiOf[web.Overview](t, r, "overview")
	request, err := http.NewRequestWithContext(await.Context(t), http.MethodGet, r.UIAddress()+"api/v1/events", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	// until reads events until one of a kind, and returns its text.
	until := func(kind web.EventKind, text string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == "event: "+string(kind) && lines.Scan() && strings.Contains(lines.Text(), text) {
				return
			}
		}
		require.Fail(t, "the stream ended", "before %s with %q", kind, text)
	}
	until(web.SnapshotPublished, "revision 1 from")
	until(web.PlanApplied, "create ACL")
	until(web.TargetChanged, "ovn is in sync with revision 1")
	p.write(t, "bad.yaml", "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: bad, namespace: shop}\n"+
		"spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: none}}]}]}\n")
	until(web.ProblemAppeared, "NetworkPolicy/shop/bad")
	after := uiOf[web.Overview](t, r, "overview")
	require.Greater(t, after.Number, before.Number)
	require.Len(t, after.Problems, 1)
	require.Equal(t, "NetworkPolicy/shop/bad", after.Problems[0].Ref.Path())
	p.remove(t, "bad.yaml")
	until(web.ProblemCleared, "NetworkPolicy/shop/bad")
	p.server.Close()
	until(web.TargetChanged, "ovn is out of sync")

	r.stop()
	for lines.Scan() { // to its end
	}
	require.NoError(t, lines.Err(), "the stream ends by itself: it is not cut off once the wait for requests is over")
}

// TestThePageNamesKindsThatAreNotEvaluated adds a policy of Cilium, which changes no snapshot, and takes it away.
func TestThePageNamesKindsThatAreNotEvaluated(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := startReady(t, p.withUI())
	unknown := func() []string { return uiOf[web.Overview](t, r, "overview").Unknown }
	require.Empty(t, unknown())
	p.write(t, "cilium.yaml", "apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {name: no-one, namespace: shop}\nspec: {}\n")
	r.await("the page knows it", func() bool { return len(unknown()) > 0 })
	require.Equal(t, []string{"ignored, although they decide on connections: 1 CiliumNetworkPolicy"}, unknown())
	code, manifests := r.get("/debug/manifests")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, manifests, `"kind":"CiliumNetworkPolicy"`)
	p.remove(t, "cilium.yaml")
	r.await("the page knows that it is gone", func() bool { return len(unknown()) == 0 })
}

func TestRowsSayWhyTheyAreNotKnown(t *testing.T) {
	t.Parallel()
	p := newSilentPlace(t)
	r := start(t, p.withUI())
	r.await("a state", func() bool { return r.Pipeline().Latest() != nil })
	r.await("a policy", func() bool {
		return uiOf[web.PolicyPage](t, r, "policies/shop/db").Object != ""
	})
	rows := uiOf[struct{ Targets []web.TargetRows }](t, r, "policies/shop/db/rows").Targets[0]
	require.Contains(t, rows.Error, "no connection")
	target := uiOf[struct{ Targets []web.Target }](t, r, "targets").Targets[0]
	require.NotEqual(t, web.InSync, target.Health)
	require.False(t, *target.Up)
}
