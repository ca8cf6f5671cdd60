package upstream_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// TestASilentServerIsFoundInTime stops a server at every moment between two signs of life, while requests are in progress.
func TestASilentServerIsFoundInTime(t *testing.T) {
	for after := range 10 {
		synctest.Test(t, func(t *testing.T) {
			s := newServers()
			c := start(t, s, object("a", "b"))
			time.Sleep(time.Minute + time.Duration(after)*100*time.Millisecond)
			r, err := http.NewRequestWithContext(upstream.WithStream(t.Context()), http.MethodGet, "https://upstream/watch", http.NoBody)
			require.NoError(t, err)
			var watches []io.ReadCloser
			for range 2 { // one of them at a
				response, err := c.RoundTrip(r) //nolint:bodyclose // it is closed at the end
				require.NoError(t, err)
				watches = append(watches, response.Body)
			}
			s.change(func() { s.hangs["a"] = true })
			began := time.Now()
			results := make(chan error, 2)
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				for range 2 { // one of them to a
					r, err := http.NewRequestWithContext(t.Context(), method, "https://upstream/api", http.NoBody)
					require.NoError(t, err)
					go func() {
						response, err := c.RoundTrip(r)
						if err == nil {
							err = response.Body.Close()
						}
						results <- err
					}()
					synctest.Wait()
				}
			}
			require.NoError(t, <-results)
			require.NoError(t, <-results)
			var failed []error
			for range 2 {
				if err := <-results; err != nil {
					failed = append(failed, err)
				}
			}
			require.LessOrEqual(t, time.Since(began), 3*time.Second)
			require.Equal(t, []error{upstream.ErrSilent}, failed, "what changes nothing is sent elsewhere, the other may have been executed")
			require.Equal(t, map[string]int{"b": 3}, s.requests)
			require.Equal(t, map[string]bool{"a": false, "b": true}, readyOf(c))
			require.Equal(t, upstream.CauseSilent, c.Endpoints()[0].Cause)
			for i, w := range s.streams {
				go func() { _, _ = w.Write([]byte("event")) }()
				_, err := io.ReadFull(watches[i], make([]byte, 5))
				require.NoError(t, err, "watches go on")
			}
			s.change(func() { clear(s.hangs) })
			time.Sleep(10 * time.Second)
			require.Equal(t, map[string]bool{"a": true, "b": true}, readyOf(c))
			for _, w := range watches {
				require.NoError(t, w.Close())
			}
		})
	}
}

// TestABusyServerIsNotAsked has a server that sends something twice a second for a minute. After that it is silent, which is found as soon.
func TestABusyServerIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a"))
		asked := func() (times int) {
			s.change(func() { times = s.pings })
			return times
		}
		for range 120 {
			s.change(func() { s.heard = time.Now() })
			time.Sleep(500 * time.Millisecond)
		}
		require.Zero(t, asked())
		s.change(func() { s.hangs["a"] = true })
		time.Sleep(2500*time.Millisecond - time.Nanosecond)
		require.Equal(t, 1, asked())
		require.Equal(t, map[string]bool{"a": true}, readyOf(c))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, map[string]bool{"a": false}, readyOf(c))
	})
}

// TestAGatewayWithoutProcessorTimeBlamesNoServer finds out too late itself that it is late. When it has processor time again, it judges.
func TestAGatewayWithoutProcessorTimeBlamesNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		c := start(t, s, object("a", "b"))
		s.change(func() { s.hangs["a"], s.hangs["b"], s.starved = true, true, 300*time.Millisecond })
		time.Sleep(4 * time.Second)
		require.Equal(t, map[string]bool{"a": true, "b": true}, readyOf(c))
		s.change(func() { s.starved = 0; delete(s.hangs, "b") })
		time.Sleep(5 * time.Second)
		require.Equal(t, map[string]bool{"a": false, "b": true}, readyOf(c))
	})
}

// TestCausesAreLogged has a server that was never ready, for one cause after the other.
func TestCausesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers()
		s.unready["a"] = 401
		log, hook := logtest.NewNullLogger()
		c := upstream.New(t.Context(), "c", upstream.Options{Log: log, NewTransport: func(at *url.URL, _ *v1alpha1.ClientConfig) (upstream.Transport, error) {
			return &transport{s, at.Host}, nil
		}})
		t.Cleanup(c.Close)
		require.NoError(t, c.Update(object("a")))
		synctest.Wait()
		logged := func() (causes []any) {
			for _, e := range hook.AllEntries() {
				if e.Level == logrus.WarnLevel {
					causes = append(causes, e.Data["cause"])
				}
			}
			return causes
		}
		require.Equal(t, []any{"Unauthorized"}, logged(), "the first failure")
		require.Equal(t, "https://a", hook.LastEntry().Data["endpoint"])
		require.Equal(t, upstream.CauseUnauthorized, c.Endpoints()[0].Cause)
		time.Sleep(time.Hour)
		require.Len(t, logged(), 1, "it goes on")
		s.change(func() { s.unready["a"] = 403 })
		time.Sleep(10 * time.Second)
		s.change(func() { s.unready["a"], s.fault["a"] = 0, &net.OpError{Op: "dial", Err: errors.New("refused")} })
		time.Sleep(10 * time.Second)
		require.Equal(t, []any{"Unauthorized", "Forbidden", "Unreachable"}, logged())
		for range 5 { // they alternate
			s.change(func() { delete(s.fault, "a"); s.unready["a"] = 403 })
			time.Sleep(2 * time.Second)
			s.change(func() { s.fault["a"] = &net.OpError{Op: "dial", Err: errors.New("refused")} })
			time.Sleep(2 * time.Second)
		}
		require.Len(t, logged(), 3)
		s.change(func() { clear(s.fault); clear(s.unready) })
		time.Sleep(10 * time.Second)
		require.Empty(t, c.Endpoints()[0].Cause)
		s.change(func() { s.unready["a"] = 500 })
		time.Sleep(10 * time.Second)
		require.Equal(t, []any{"Unauthorized", "Forbidden", "Unreachable", "Unready"}, logged())
	})
}
