package httpcall

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDo checks what is known about a request that failed before, while and after it was sent.
func TestDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/long":
			_, _ = io.WriteString(w, strings.Repeat("x", 11))
		default:
			_, _ = io.WriteString(w, "0123456789")
		}
	}))
	t.Cleanup(server.Close)
	refused := Dial(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route") })
	over := errors.New("over")
	for _, tc := range []struct {
		name    string
		path    string
		dial    Dial
		ended   bool
		writes  bool
		want    string // of the error
		unknown bool
	}{
		{name: "an answer", path: "/", writes: true},
		{name: "no connection", path: "/", dial: refused, writes: true, want: "connect: no route"},
		{name: "a read that is cut", path: "/cut", want: "the connection ended"},
		{name: "a write that is cut", path: "/cut", writes: true, want: "outcome of the write unknown: the connection ended", unknown: true},
		{name: "an answer too long", path: "/long", want: "response too large"},
		{name: "a context that has ended", path: "/", ended: true, writes: true, want: "over"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			transport := &http.Transport{DialContext: tc.dial.Marked()}
			t.Cleanup(transport.CloseIdleConnections)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tc.ended {
				cancel(over)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+tc.path, http.NoBody)
			require.NoError(t, err)
			answer, err := Do(req, tc.writes, func(req *http.Request) (Answer, error) { return Exchange(transport, req, 10) })
			require.Equal(t, tc.unknown, errors.Is(err, ErrUnknownOutcome))
			if tc.want == "" {
				require.NoError(t, err)
				require.Equal(t, "0123456789", string(answer.Body))
				return
			}
			require.EqualError(t, err, tc.want)
			require.Zero(t, answer)
		})
	}
}

// TestTurns checks that a turn is given back, and that waiting for one ends with the context.
func TestTurns(t *testing.T) {
	turns := NewTurns(1)
	done, err := turns.Wait(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrNoAnswer)
	_, err = turns.Wait(ctx)
	require.ErrorIs(t, err, ErrNoAnswer)
	done()
	done, err = turns.Wait(t.Context())
	require.NoError(t, err)
	done()
}
