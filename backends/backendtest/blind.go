package backendtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/test/await"
)

// Blindable is a target that can stop showing its changes to backends that are a backends.Viewer, and begin again.
type Blindable interface {
	// Show ends or begins that.
	Show(shown bool)
}

// blind has a target change while the backend cannot see it: that is said at once, and the change is repaired once it is seen.
func (c *contract) blind(t *testing.T) {
	target := c.fresh(t)
	s := c.history(c.seeds[0], 3)[2]
	l, snap := start(t, target, "a"), s.Snapshot()
	v, sees := l.backend.(backends.Viewer)
	of, can := target.(Blindable)
	require.Equal(t, sees, can, "a backend that is a Viewer has a target that is Blindable")
	if !sees {
		t.Log("the backend sees nothing unasked")
		return
	}
	w, ok := l.backend.(backends.Waker)
	require.True(t, ok)
	l.reconcile(t, s, snap)
	whole := target.Dump(t)
	require.NoError(t, v.Blind())
	require.Empty(t, opsText(l.plan(t, snap)))
	for harmed := 0; harmed < 3; {
		awake(w)
		of.Show(false)
		await.True(t, func() bool { return v.Blind() != nil && awake(w) }, "it is said, and the loop is woken")
		harm, more := target.Damage(t, "a", harmed)
		require.True(t, more)
		harmed++
		awake(w)
		of.Show(true)
		await.True(t, func() bool { return v.Blind() == nil && awake(w) }, "it is over, and the loop is woken")
		if len(harm.Names) == 0 {
			continue
		}
		l.repaired(t, harm)
		require.Equal(t, whole, target.Dump(t), "%s: not repaired", harm.What)
	}
}

// awake reports whether a backend asked for a plan.
func awake(w backends.Waker) bool {
	select {
	case <-w.Wake():
		return true
	default:
		return false
	}
}

// repaired repairs what others changed, as a loop does: only that, or everything from a read-back if the backend asks for it.
func (l *loop) repaired(t *testing.T, harm Damage) {
	t.Helper()
	w, ok := l.backend.(backends.Watcher)
	require.True(t, ok)
	await.True(t, func() bool { return changed(t, w) }, "%s: not noticed", harm.What)
	p, err := w.Repair(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, p.Ops, "%s", harm.What)
	require.NoError(t, l.backend.Apply(t.Context(), p))
	require.False(t, changed(t, w), "%s: the repair is taken for a change by others", harm.What)
}

// changed reports whether others changed the target.
func changed(t *testing.T, w backends.Watcher) bool {
	t.Helper()
	if c, ok := w.(backends.Confirmer); ok {
		require.NoError(t, c.Confirm(t.Context()))
	}
	return w.ChangedByOthers()
}
