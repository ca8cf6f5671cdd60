package httpbody_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/serve/httpbody"
)

// slow is a client that reads nothing before it is released.
type slow struct {
	*httptest.ResponseRecorder
	gate chan struct{}
}

func (s slow) Write(p []byte) (int, error) {
	<-s.gate
	return s.ResponseRecorder.Write(p)
}

func ask(t *testing.T) *http.Request {
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
}

// text is an answer of n bytes that compresses well, and noise one that does not.
func text(n int) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, strings.Repeat("x", n)); return err }
}

func noise(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		random := rand.New(rand.NewPCG(1, 2))
		for range n {
			if _, err := w.Write([]byte{byte(random.Uint32())}); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestManySlowReadersShareOneAnswer asks at once, while the answer is made and after it, and reads nothing.
func TestManySlowReadersShareOneAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpbody.New(httpbody.Options{Bytes: 150_000})
		var builds atomic.Int32
		begun, finish, read := make(chan struct{}), make(chan struct{}), make(chan struct{})
		build := func(w io.Writer) error {
			builds.Add(1)
			close(begun)
			<-finish
			return noise(100_000)(w)
		}
		var running sync.WaitGroup
		writers := make([]*httptest.ResponseRecorder, 30)
		for i := range writers {
			writers[i] = httptest.NewRecorder()
			running.Go(func() {
				if i >= 15 {
					<-finish
				}
				if err := s.Serve(slow{writers[i], read}, ask(t), httpbody.Key{Name: "a", Number: 1}, build); err != nil {
					t.Error(err)
				}
			})
		}
		<-begun
		synctest.Wait()
		close(finish)
		synctest.Wait()
		require.EqualValues(t, 1, builds.Load())

		w := httptest.NewRecorder()
		err := s.Serve(w, ask(t), httpbody.Key{Name: "a", Number: 2}, noise(100_000))
		require.ErrorIs(t, err, httpbody.ErrBusy, "another answer does not fit beside one that is being read")
		require.Empty(t, w.Body.Bytes())
		close(read)
		running.Wait()
		for _, w := range writers {
			require.Equal(t, 100_000, w.Body.Len())
		}
		require.NoError(t, s.Serve(w, ask(t), httpbody.Key{Name: "a", Number: 2}, noise(100_000)), "now it does")
		require.Equal(t, 100_000, w.Body.Len())
	})
}

func TestOneAnswerIsMadeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpbody.New(httpbody.Options{})
		var at, most atomic.Int32
		finish := make(chan struct{})
		var running sync.WaitGroup
		for i := range 10 {
			running.Go(func() {
				_ = s.Serve(httptest.NewRecorder(), ask(t), httpbody.Key{Name: fmt.Sprint(i)}, func(io.Writer) error {
					most.Store(max(most.Load(), at.Add(1)))
					<-finish
					at.Add(-1)
					return nil
				})
			})
		}
		synctest.Wait()
		close(finish)
		running.Wait()
		require.EqualValues(t, 1, most.Load())
	})
}

func TestRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpbody.New(httpbody.Options{Requests: 3})
		read := make(chan struct{})
		var running sync.WaitGroup
		for range 3 {
			running.Go(func() { _ = s.Serve(slow{httptest.NewRecorder(), read}, ask(t), httpbody.Key{}, text(10)) })
		}
		synctest.Wait()
		require.ErrorIs(t, s.Serve(httptest.NewRecorder(), ask(t), httpbody.Key{}, text(10)), httpbody.ErrBusy)
		close(read)
		running.Wait()
		require.NoError(t, s.Serve(httptest.NewRecorder(), ask(t), httpbody.Key{}, text(10)))
	})
}

// TestUnusedAnswersMakeRoom asks for more names than are cached, and for more bytes.
func TestUnusedAnswersMakeRoom(t *testing.T) {
	s := httpbody.New(httpbody.Options{Bytes: 150_000, Kept: 3})
	builds := 0
	get := func(name string, number uint64, n int) {
		t.Helper()
		w := httptest.NewRecorder()
		require.NoError(t, s.Serve(w, ask(t), httpbody.Key{Name: name, Number: number}, func(w io.Writer) error {
			builds++
			return noise(n)(w)
		}))
		require.Equal(t, n, w.Body.Len())
	}
	for i := range 50 {
		get(fmt.Sprint(i), 1, 20_000)
	}
	require.Equal(t, 50, builds)
	get("49", 1, 20_000)
	get("48", 1, 20_000)
	require.Equal(t, 50, builds, "the last are kept")
	get("1", 1, 20_000)
	require.Equal(t, 51, builds)
	get("49", 2, 100_000)
	get("49", 3, 100_000)
	get("49", 4, 100_000)
	get("x", 1, 140_000)

	broken := errors.New("broken")
	fails := func(w io.Writer) error { _ = noise(100_000)(w); return broken }
	for range 10 {
		require.ErrorIs(t, s.Serve(httptest.NewRecorder(), ask(t), httpbody.Key{Name: "y"}, fails), broken)
	}
	require.ErrorIs(t, s.Serve(httptest.NewRecorder(), ask(t), httpbody.Key{Name: "y"}, noise(200_000)), httpbody.ErrBusy)
	get("z", 1, 140_000)
}

func TestAnswersAreCompressedForWhoeverTakesThat(t *testing.T) {
	s := httpbody.New(httpbody.Options{})
	for _, tc := range []struct {
		accept, want string
		n            int
	}{{"", "", 1 << 20}, {"br, gzip;q=0.8", "gzip", 1 << 20}, {"gzip;q=0", "", 1 << 20}, {"gzip", "", 100}} {
		r, w := ask(t), httptest.NewRecorder()
		r.Header.Set("Accept-Encoding", tc.accept)
		require.NoError(t, s.Serve(w, r, httpbody.Key{Number: uint64(tc.n)}, text(tc.n)))
		require.Equal(t, tc.want, w.Header().Get("Content-Encoding"))
		require.Equal(t, fmt.Sprint(w.Body.Len()), w.Header().Get("Content-Length"))
		if tc.want == "" {
			require.Equal(t, tc.n, w.Body.Len())
		} else {
			require.Less(t, w.Body.Len(), 1<<15)
		}
	}
}
