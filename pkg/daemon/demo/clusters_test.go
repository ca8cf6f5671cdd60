package demo

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/probe"
	"github.com/netloom/netloom/pkg/serve/web"
)

func TestClusters(t *testing.T) {
	out := newScreen()
	require.NoError(t, Run(t.Context(), Options{Clusters: 2, Once: true}, out, logrus.New()))
	before, after, found := strings.Cut(out.String(), "gets the label app=checkout")
	require.True(t, found)
	require.Contains(t, before, "deny   b/shop/web-0 -> a/shop/db-0 tcp/5432 ")
	require.Contains(t, before, "allow  b/shop/checkout-0 -> a/shop/db-0 tcp/5432 ")
	require.Contains(t, after, "addresses: +10.2.0.11\n1 operation in 1 transaction: mutate Address_Set ×1\n")
	require.Contains(t, after, "allow  b/shop/web-0 -> a/shop/db-0 tcp/5432 ")
	require.NotContains(t, out.String(), "← unexpected")
}

func TestNumberOfClusters(t *testing.T) {
	require.EqualError(t, Run(t.Context(), Options{Clusters: 3, Once: true}, newScreen(), logrus.New()), "--clusters: 3: expected 1 or 2")
}

// TestClustersAreWatched looks at the page of one cluster and edits the manifests of the other.
func TestClustersAreWatched(t *testing.T) {
	out := newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Clusters: 2, UIListen: "127.0.0.1:0"}, out, logrus.New()) }()
	out.await(t, 0, "Press Ctrl-C to stop.\n")
	page := regexp.MustCompile(`The web page of cluster a: (\S+)`).FindStringSubmatch(out.String())
	require.NotEmpty(t, page)
	require.Equal(t, probe.VerdictUnknown, ask(t, page[1], "b/shop/web-0"), "the policies of b are those of another daemon")
	require.Equal(t, probe.Deny, ask(t, page[1], "shop/report-0"))

	from := len(out.String())
	dir := regexp.MustCompile(`Edit a file in (\S+) `).FindStringSubmatch(out.String())
	require.NotEmpty(t, dir)
	path, draft := filepath.Join(dir[1], "b", "shop.yaml"), filepath.Join(dir[1], "b", ".draft")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), relabeledAs)
	require.NoError(t, os.WriteFile(draft, []byte(strings.Replace(string(text), relabeledAs, relabeledPod, 1)), 0o600))
	require.NoError(t, os.Rename(draft, path))
	out.await(t, from, "addresses: -10.2.0.11\n")
	require.Equal(t, probe.Deny, ask(t, page[1], "b/shop/web-0"))
	cancel()
	require.NoError(t, <-ended)
}

// ask asks a page whether a pod may use the database.
func ask(t *testing.T, page, from string) probe.Verdict {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, page+"api/v1/why?to=shop/db-0&port=5432&from="+from, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	var why web.Why
	require.NoError(t, json.NewDecoder(response.Body).Decode(&why))
	require.Len(t, why.Answers, 1)
	return why.Answers[0].Verdict
}
