package demo

import (
	"bytes"
	"context"
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

func TestADemoThatRunsOnceHasNoPage(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true, UIListen: "an invalid address"}, &out, testLog(t)))
	require.NotContains(t, out.String(), "web page")
}
