package daemon_test

import (
	"errors"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
)

// age is what the metrics say of the oldest change that is not in force, in seconds.
func (d *desk) age() string {
	d.Helper()
	w := httptest.NewRecorder()
	d.daemon.Handler().ServeHTTP(w, httptest.NewRequestWithContext(d.Context(), "GET", "/metrics", nil))
	found := regexp.MustCompile(`(?m)^netloom_oldest_unenforced_change_seconds (.*)$`).FindStringSubmatch(w.Body.String())
	require.NotNil(d, found)
	return found[1]
}

func TestAChangeThatATargetDoesNotTakeGrowsOld(t *testing.T) {
	for _, err := range []error{errors.New("no"), backends.ErrUnreachable} {
		atDesk(t, func(d *desk) {
			d.start()
			require.Equal(t, "0", d.age(), "in sync")
			d.backend.set(err)
			d.after(time.Hour)
			require.Equal(t, "0", d.age(), "nothing waits")
			d.policy("p", 1, 80)
			d.after(20 * time.Second)
			require.Equal(t, "20", d.age())
			require.NotContains(t, d.ready(), "not in force")
			d.policy("q", 1, 81)
			d.after(20 * time.Second)
			require.Equal(t, "40", d.age(), "the oldest counts")
			require.Contains(t, d.ready(), "degraded: the oldest change that is not in force was made 40s ago")
			d.backend.set(nil)
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
	atDesk(t, func(d *desk) {
		slow := &stuck{Source: d.source}
		d.opts.Source = slow
		d.start()
		require.Equal(t, "0", d.age())
		slow.takes = time.Minute
		d.policy("p", 1, 80)
		d.after(40 * time.Second)
		require.Equal(t, "40", d.age(), "it has left the source and is in no snapshot")
		require.Contains(t, d.ready(), "degraded: the oldest change that is not in force was made 40s ago")
		d.policy("q", 1, 81)
		d.after(30 * time.Second)
		require.Equal(t, "30", d.age(), "the second came while the first was under way")
		d.after(time.Hour)
		require.Equal(t, "0", d.age())
	})
}
