package gateway_test

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
)

type rule = v1alpha1.DispatchPolicyRule

// resources is a rule for all verbs and groups.
func resources(names ...string) rule {
	return rule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: names}
}

// with is a rule for everything with one change.
func with(change func(r *rule)) rule {
	r := resources("*")
	change(&r)
	return r
}

// TestClausesOfRules sends requests as clients do. A rule that matches leads to one API server, and the policy after it to another.
func TestClausesOfRules(t *testing.T) {
	t.Parallel()
	const web, shop, root = "system:serviceaccount:shop:web", "/api/v1/namespaces/shop/", "/apis/apps/v1/namespaces/shop/deployments"
	accounts := []v1alpha1.ServiceAccountRef{{Namespace: "shop", Name: "web"}}
	ca := newAuthority(t)
	chosen, other := newAPIServer(t, ca), newAPIServer(t, ca)
	r := newRig(t, nil)
	o := cluster("a.example", ca, chosen, other)
	o.Spec.DispatchPolicies = append([]v1alpha1.DispatchPolicy{{}}, o.Spec.DispatchPolicies...)
	o.Spec.DispatchPolicies[0].UpstreamSubset, o.Spec.DispatchPolicies[1].UpstreamSubset = []string{chosen.URL}, []string{other.URL}
	clients := map[string]*http.Client{}
	for user, groups := range map[string][]string{
		"ann": {"dev"}, "bob": {"ops", "dev"}, "node-7": nil, web: {"system:serviceaccounts", "system:serviceaccounts:shop"}, "system:serviceaccount:other:web": nil,
	} {
		clients[user] = r.client("a.example", ca.pair(user, groups...))
	}
	for _, tc := range []struct {
		name  string
		rules []rule
		user  string
		yes   []string // requests that match, METHOD PATH
		no    []string
	}{
		{
			"verbs are those of Kubernetes",
			[]rule{with(func(r *rule) { r.Verbs = []string{"list", "deletecollection", "patch"} })},
			"ann",
			[]string{"GET " + shop + "pods", "DELETE " + shop + "pods", "PATCH " + shop + "pods/a"},
			[]string{"GET " + shop + "pods/a", "DELETE " + shop + "pods/a", "POST " + shop + "pods", "PUT " + shop + "pods/a"},
		},
		{"verbs are excluded", []rule{with(func(r *rule) { r.Verbs = []string{"-get", "-list"} })}, "ann", []string{"POST " + shop + "pods"}, []string{"GET " + shop + "pods", "GET " + shop + "pods/a"}},
		{"mixed * and -", []rule{resources("-pods", "*")}, "ann", []string{"GET " + shop + "pods", "GET " + root}, nil},
		{"mixed names and -", []rule{resources("-pods", "deployments")}, "ann", []string{"GET " + root}, []string{"GET " + shop + "pods", "GET " + shop + "secrets"}},
		{"all are excluded", []rule{resources("-pods", "-deployments")}, "ann", []string{"GET " + shop + "secrets", "GET " + shop + "pods/a/log"}, []string{"GET " + shop + "pods", "GET " + root}},
		{"groups of APIs", []rule{with(func(r *rule) { r.APIGroups = []string{""} })}, "ann", []string{"GET " + shop + "pods"}, []string{"GET " + root}},
		{"groups of APIs are excluded", []rule{with(func(r *rule) { r.APIGroups = []string{"-apps"} })}, "ann", []string{"GET " + shop + "pods"}, []string{"GET " + root}},
		{"{resource}/{sub}", []rule{resources("pods/status")}, "ann", []string{"GET " + shop + "pods/a/status"}, []string{"GET " + shop + "pods/a", "PUT " + shop + "services/a/status", "GET " + shop + "pods/status"}},
		{"*/{sub}", []rule{resources("*/status")}, "ann", []string{"GET " + shop + "pods/a/status", "PUT " + root + "/a/status"}, []string{"GET " + shop + "pods/a", "PUT " + root + "/a/scale"}},
		{"-*/{sub}", []rule{resources("-*/status")}, "ann", []string{"GET " + shop + "pods/a", "GET " + root + "/a/scale"}, []string{"GET " + shop + "pods/a/status"}},
		{"resourceNames", []rule{with(func(r *rule) { r.ResourceNames = []string{"nginx"} })}, "ann", []string{"GET " + shop + "pods/nginx", "DELETE " + root + "/nginx", "GET " + shop + "pods/nginx/status"}, []string{"GET " + shop + "pods/a", "GET " + shop + "pods"}},
		{"resourceNames are excluded", []rule{with(func(r *rule) { r.ResourceNames = []string{"-nginx"} })}, "ann", []string{"GET " + shop + "pods/a", "GET " + shop + "pods"}, []string{"GET " + shop + "pods/nginx"}},
		{"a list of one object has its name", []rule{with(func(r *rule) { r.ResourceNames = []string{"nginx"} })}, "ann", []string{"GET " + shop + "pods?fieldSelector=metadata.name%3Dnginx"}, []string{"GET " + shop + "pods?fieldSelector=metadata.name%3Da"}},
		{"users", []rule{with(func(r *rule) { r.Users = []string{"ann"} })}, "ann", []string{"GET " + shop + "pods"}, nil},
		{"another user", []rule{with(func(r *rule) { r.Users = []string{"ann"} })}, "bob", nil, []string{"GET " + shop + "pods"}},
		{"users are excluded", []rule{with(func(r *rule) { r.Users = []string{"-ann", "-node-*"} })}, "node-7", nil, []string{"GET " + shop + "pods"}},
		{"userGroups", []rule{with(func(r *rule) { r.UserGroups = []string{"ops"} })}, "bob", []string{"GET " + shop + "pods"}, nil},
		{"userGroups are excluded", []rule{with(func(r *rule) { r.UserGroups = []string{"-ops"} })}, "bob", nil, []string{"GET " + shop + "pods"}},
		{"no excluded userGroup", []rule{with(func(r *rule) { r.UserGroups = []string{"-ops"} })}, "ann", []string{"GET " + shop + "pods"}, nil},
		{"serviceAccounts", []rule{with(func(r *rule) { r.ServiceAccounts = accounts })}, web, []string{"GET " + shop + "pods"}, nil},
		{"serviceAccounts of another namespace", []rule{with(func(r *rule) { r.ServiceAccounts = accounts })}, "system:serviceaccount:other:web", nil, []string{"GET " + shop + "pods"}},
		{"serviceAccounts alone match no user", []rule{with(func(r *rule) { r.ServiceAccounts = accounts })}, "ann", nil, []string{"GET " + shop + "pods"}},
		{"users alone match no service account", []rule{with(func(r *rule) { r.Users = []string{"ann"} })}, web, nil, []string{"GET " + shop + "pods"}},
		{"serviceAccounts beside users", []rule{with(func(r *rule) { r.Users, r.ServiceAccounts = []string{"ann"}, accounts })}, web, []string{"GET " + shop + "pods"}, nil},
		{"a service account as a user", []rule{with(func(r *rule) { r.Users = []string{web} })}, web, []string{"GET " + shop + "pods"}, nil},
		{"a service account in a group", []rule{with(func(r *rule) { r.UserGroups = []string{"system:serviceaccounts:shop"} })}, web, []string{"GET " + shop + "pods"}, nil},
		{
			"nonResourceURLs",
			[]rule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/healthz/*"}}},
			"ann",
			[]string{"GET /healthz", "GET /healthz/etcd"},
			[]string{"GET /healthzfoo", "POST /healthz", "GET /version", "GET " + shop + "pods"},
		},
		{"fields are joined by and", []rule{with(func(r *rule) { r.Verbs, r.Users = []string{"list"}, []string{"ann"} })}, "ann", []string{"GET " + shop + "pods"}, []string{"GET " + shop + "pods/a"}},
		{"rules are joined by or", []rule{resources("pods"), resources("deployments")}, "ann", []string{"GET " + shop + "pods", "GET " + root}, []string{"GET " + shop + "secrets"}},
	} {
		o := o.DeepCopy()
		o.Spec.DispatchPolicies[0].Rules = tc.rules
		r.serve(o)
		for matches, lines := range map[bool][]string{true: tc.yes, false: tc.no} {
			for _, line := range lines {
				method, path, _ := strings.Cut(line, " ")
				before := [2]int{chosen.total(), other.total()}
				got := r.ask(clients[tc.user], method, "https://a.example"+path)
				require.Equal(t, http.StatusOK, got.code, "%s: %s: %s", tc.name, line, got.body)
				want := [2]int{before[0] + 1, before[1]}
				if !matches {
					want = [2]int{before[0], before[1] + 1}
				}
				require.Equal(t, want, [2]int{chosen.total(), other.total()}, "%s: %s", tc.name, line)
			}
		}
	}
}

// TestLimitsUnderLoad has many clients send at once to an API server that answers none of them: as many requests as the limit allows get
// there, all others are refused, and those of an exempt schema, of no schema and of another limit are not held up.
func TestLimitsUnderLoad(t *testing.T) {
	t.Parallel()
	const limit, many = 5, 60
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	held, release := map[string]int{}, make(chan struct{})
	server.objects = func(w http.ResponseWriter, r *http.Request) bool {
		user := r.Header.Get("Impersonate-User")
		if user == "" {
			return false
		}
		server.change(func() { held[user]++ })
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	}
	at := func(user string) (n int) {
		server.change(func() { n = held[user] })
		return n
	}
	r := newRig(t, nil)
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{
		{Name: "few", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: limit}},
		{Name: "own", MaxRequestsInflight: &v1alpha1.MaxRequestsInflight{Max: 1}},
		{Name: "free", Exempt: &v1alpha1.Exempt{}},
	}
	o.Spec.DispatchPolicies = nil
	schemas := map[string]string{"limited": "few", "also-limited": "few", "single": "own", "exempt": "free", "unlimited": ""}
	for user, schema := range schemas {
		o.Spec.DispatchPolicies = append(o.Spec.DispatchPolicies, v1alpha1.DispatchPolicy{Rules: []rule{with(func(r *rule) { r.Users = []string{user} })}, FlowControlSchemaName: schema})
	}
	r.serve(o)
	clients := map[string]*http.Client{}
	for user := range schemas {
		clients[user] = r.client("a.example", ca.pair(user))
	}
	var asking sync.WaitGroup
	codes := make(chan int, 10*many)
	send := func(user string, n int) {
		for range n {
			asking.Go(func() { codes <- r.ask(clients[user], http.MethodGet, pods).code })
		}
	}
	send("limited", many)
	send("also-limited", many)
	await.True(t, func() bool { return at("limited")+at("also-limited") == limit && len(codes) == 2*many-limit }, "the limit is reached, and all others are refused")
	for range 2*many - limit {
		require.Equal(t, http.StatusTooManyRequests, <-codes)
	}
	send("exempt", many)
	send("unlimited", many)
	send("single", 1)
	await.True(t, func() bool { return at("exempt") == many && at("unlimited") == many && at("single") == 1 }, "others are not held up")
	require.Equal(t, http.StatusTooManyRequests, r.ask(clients["limited"], http.MethodGet, pods).code)
	require.Empty(t, codes)
	close(release)
	asking.Wait()
	for range limit + 2*many + 1 {
		require.Equal(t, http.StatusOK, <-codes)
	}
	require.Equal(t, http.StatusOK, r.ask(clients["limited"], http.MethodGet, pods).code, "all places are free again")
	require.Equal(t, limit+1, at("limited")+at("also-limited"), "no more got there than the limit allowed")
}

// TestTheManualNamesTests finds every test, and every case of one, that docs/gateway.md names.
func TestTheManualNamesTests(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../docs/gateway.md")
	require.NoError(t, err)
	var sources []string
	for _, dir := range []string{".", "../../test/e2ekube", "../../cmd/netloom", "../../pkg/daemon/demo"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources = append(sources, string(text))
			return err
		}))
	}
	named := regexp.MustCompile("`(Test\\w+)(?:/([^`]+))?`").FindAllStringSubmatch(string(manual), -1)
	require.Greater(t, len(named), 40)
	for _, n := range named {
		found := false
		for _, text := range sources {
			_, body, ok := strings.Cut(text, "\nfunc "+n[1]+"(")
			if !ok {
				continue
			}
			body, _, _ = strings.Cut(body, "\n}\n")
			found = found || n[2] == "" || regexp.MustCompile(`\{\s*"`+regexp.QuoteMeta(n[2])+`",`).MatchString(body)
		}
		require.True(t, found, "%s", n[0])
	}
}
