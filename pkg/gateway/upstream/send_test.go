package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/gateway/upstream"
)

var errGoAway = errors.New("GOAWAY")

// post sends a POST whose body can be sent again, as a copy of it can, or not. It returns the code and the text of the answer.
func post(t *testing.T, via http.RoundTripper, again bool) (code int, text string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://upstream/api", strings.NewReader("text"))
	require.NoError(t, err)
	if !again {
		r.GetBody = nil
	}
	response, err := via.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	raw, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(raw), response.Body.Close()
}

// TestWhatWasNotProcessedIsSentElsewhere has an API server that read requests, and did not process them.
func TestWhatWasNotProcessedIsSentElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		for range 10 {
			s.change(func() { s.refuses["a"], s.refuses["b"] = 1, 0 })
			code, _, err := post(t, c, true)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
		}
		require.Equal(t, 10, s.requests["a"]+s.requests["b"], "each was processed once")
		require.Positive(t, s.requests["b"])
		require.Equal(t, "text", s.bodies["b"])
		require.Equal(t, map[string]bool{"a": true, "b": true}, readyOf(c), "it ends connections, not its service")
	})
}

// TestTheOnlyServerIsAskedAgain has no other server.
func TestTheOnlyServerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a"))
		s.refuses["a"] = 9
		_, _, err := post(t, c, true)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"a": 1}, s.requests)

		s.refuses["a"], s.got["a"] = 1000, 0
		_, _, err = post(t, c, true)
		require.ErrorIs(t, err, errGoAway)
		require.True(t, upstream.NotProcessed(err), "the client may send it again")
		require.Equal(t, 10, s.got["a"], "there is a limit")

		s.refuses["a"], s.got["a"] = 1, 0
		_, _, err = post(t, c, false)
		require.ErrorIs(t, err, errGoAway, "the rest of the body cannot be sent without its beginning")
		require.True(t, upstream.NotProcessed(err))
		require.Equal(t, 1, s.got["a"])
	})
}

// TestWhatMayHaveBeenProcessedIsNotSentAgain has servers whose connections break within a request that could be sent again.
func TestWhatMayHaveBeenProcessedIsNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		broken := errors.New("connection reset")
		s.change(func() { s.broken["a"], s.broken["b"] = broken, nil })
		failed := 0
		for range 10 {
			if _, _, err := post(t, c, true); err != nil {
				require.ErrorIs(t, err, broken)
				require.False(t, upstream.NotProcessed(err))
				failed++
			}
		}
		require.Equal(t, 5, failed)
		require.Equal(t, 5, s.requests["b"])
	})
}

// TestServersThatShutDownTurnRequestsAway answers as kube-apiserver does, before it looks at a request.
func TestServersThatShutDownTurnRequestsAway(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}`
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		s.change(func() { s.stops["a"], s.unready["a"] = status+"\n", 500 })
		for range 4 {
			code, _, err := post(t, c, true)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
		}
		require.Equal(t, map[string]int{"b": 4}, s.requests)
		require.Equal(t, 1, s.got["a"], "no further request tries it")
		require.Equal(t, map[string]bool{"a": false, "b": true}, readyOf(c))
	})
	for name, of := range map[string]struct {
		text string
		got  int // requests at both servers
	}{
		"both shut down":                   {status, 2},
		"another reason":                   {strings.ReplaceAll(status, "apiserver is shutting down", "the webhook is"), 1},
		"an answer that is long":           {status + strings.Repeat(" ", 4096) + "}", 1},
		"an answer that is no Status":      {"apiserver is shutting down", 1},
		"a body that cannot be sent again": {status, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServers()
				c := start(t, s, object("a", "b"))
				s.change(func() { s.stops["a"], s.stops["b"] = of.text, of.text })
				code, got, err := post(t, c, !strings.Contains(name, "cannot"))
				require.NoError(t, err)
				require.Equal(t, http.StatusServiceUnavailable, code)
				require.Equal(t, of.text, got, "the answer is forwarded")
				require.Equal(t, of.got, s.got["a"]+s.got["b"])
			})
		})
	}
}
