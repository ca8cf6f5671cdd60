package daemon_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/memory"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
)

// waiting is a daemon over a target that may fail, where time passes when nothing else can happen.
type waiting struct {
	*testing.T
	source *pipelinetest.Source
	err    atomic.Pointer[error] // of the target; nil is none
	daemon *daemon.Daemon
}

// failing is a backend that fails as a test says.
type failing struct {
	backends.Backend
	as *waiting
}

func (f failing) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := f.as.err.Load(); err != nil {
		return nil, *err
	}
	return f.Backend.Plan(ctx, want, since)
}

// inWaiting runs f with a daemon that reads source, as wrap makes it.
func inWaiting(t *testing.T, wrap func(*pipelinetest.Source) source.Source, f func(*waiting)) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{T: t, source: pipelinetest.New()}
		w.source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("db-0", "db", "n1", "10.0.0.1"))
		w.source.Sync()
		w.daemon = daemon.NewOver(daemon.Options{
			Source: wrap(w.source),
			Reconcile: reconcile.Options{
				RetryMin: 250 * time.Millisecond, RetryMax: 5 * time.Second, MaxInterval: 5 * time.Minute, MaxDeleteFraction: 1,
			},
		}, &builtin.Target{Name: "ovn", Backend: failing{memory.New(memory.NewTarget(), "netloom"), w}}, testLog(t))
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		ended := make(chan error, 1)
		go func() { ended <- w.daemon.Run(ctx) }()
		defer func() {
			cancel()
			require.NoError(t, <-ended)
		}()
		w.after(2 * time.Second)
		f(w)
	})
}

// after lets time pass.
func (*waiting) after(t time.Duration) {
	time.Sleep(t)
	synctest.Wait()
}

// change puts another policy into the source.
func (w *waiting) change(name string) { w.source.Put(pipelinetest.Policy(name, "web", "db")) }

func (w *waiting) get(path string) string {
	answer := httptest.NewRecorder()
	w.daemon.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(w.Context(), "GET", path, nil))
	return answer.Body.String()
}

func (w *waiting) ready() string { return w.get("/readyz") }

// age is what the metrics say of the oldest change that is not in force, in seconds.
func (w *waiting) age() string {
	w.Helper()
	found := regexp.MustCompile(`(?m)^netloom_oldest_unenforced_change_seconds (.*)$`).FindStringSubmatch(w.get("/metrics"))
	require.NotNil(w, found)
	return found[1]
}

func TestAChangeThatATargetDoesNotTakeGrowsOld(t *testing.T) {
	for _, err := range []error{errors.New("no"), backends.ErrUnreachable} {
		inWaiting(t, func(s *pipelinetest.Source) source.Source { return s }, func(d *waiting) {
			require.Equal(t, "0", d.age(), "in sync")
			d.err.Store(&err)
			d.after(time.Hour)
			require.Equal(t, "0", d.age(), "nothing waits")
			d.change("p")
			d.after(20 * time.Second)
			require.Equal(t, "20", d.age())
			require.NotContains(t, d.ready(), "not in force")
			d.change("q")
			d.after(20 * time.Second)
			require.Equal(t, "40", d.age(), "the oldest counts")
			require.Contains(t, d.ready(), "degraded: the oldest change that is not in force was made 40s ago")
			d.err.Store(nil)
			d.after(time.Minute)
			require.Equal(t, "0", d.age())
			require.NotContains(t, d.ready(), "not in force")
		})
	}
}

// stuck is a source that hands out an object of which translation begins only after a while.
type stuck struct {
	*pipelinetest.Source
	takes time.Duration
}

func (s *stuck) Drain() []object.Ref {
	refs := s.Source.Drain()
	if len(refs) > 0 {
		time.Sleep(s.takes)
	}
	return refs
}

func TestAChangeGrowsOldWhileTranslationIsStuck(t *testing.T) {
	slow := &stuck{}
	wrap := func(s *pipelinetest.Source) source.Source {
		slow.Source = s
		return slow
	}
	inWaiting(t, wrap, func(d *waiting) {
		require.Equal(t, "0", d.age())
		slow.takes = time.Minute
		d.change("p")
		d.after(40 * time.Second)
		require.Equal(t, "40", d.age(), "it has left the source and is in no snapshot")
		require.Contains(t, d.ready(), "degraded: the oldest change that is not in force was made 40s ago")
		d.change("q")
		d.after(30 * time.Second)
		require.Equal(t, "30", d.age(), "the second came while the first was under way")
		d.after(time.Hour)
		require.Equal(t, "0", d.age())
	})
}
