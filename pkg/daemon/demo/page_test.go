package demo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheDemoSaysWhereItsPageIs(t *testing.T) {
	out := newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	dir := copyOfExamples(t)
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Manifests: dir, UIListen: "127.0.0.1:0"}, out, testLog(t))
	}()
	out.await(t, 0, "The database: ")
	said := regexp.MustCompile(`\nThe web page: (http://127\.0\.0\.1:\d+/)\n`).FindStringSubmatch(out.String())
	require.NotNil(t, said, out.String())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, said[1], http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	cancel()
	require.NoError(t, <-done)
}

// TestTheExampleOfCNFsHasItsOwnPage runs the built-in examples, of which the second one has CNFs.
func TestTheExampleOfCNFsHasItsOwnPage(t *testing.T) {
	out := newScreen()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{UIListen: "127.0.0.1:0"}, out, testLog(t)) }()
	out.await(t, 0, "The web page of the CNFs: ")
	out.await(t, 0, "The database: ")
	said := regexp.MustCompile(`\nThe web page of the CNFs: (http://127\.0\.0\.1:\d+/)\n`).FindStringSubmatch(out.String())
	require.NotNil(t, said, out.String())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, said[1]+"api/v1/targets", http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Contains(t, string(answer), `"name":"openwrt/edge/cnf-0"`)
	cancel()
	require.NoError(t, <-done)
}

func TestADemoThatRunsOnceHasNoPage(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true, UIListen: "an invalid address"}, &out, testLog(t)))
	require.NotContains(t, out.String(), "web page")
}
