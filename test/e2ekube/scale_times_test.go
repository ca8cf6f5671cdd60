//go:build e2e

package e2ekube_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/e2ekube/nbwatch"
)

// change is one request and what came of it, by this process's clock.
type change struct {
	sent      time.Time
	answered  time.Time
	watched   time.Time // the plain watch had the event; zero without a watch
	committed time.Time // the database reported a row with the change's mark
	version   string    // of the object, by the answer
	event     string    // by the event
}

// stopwatch takes the times of changes that are under way. A change carries a mark that no other has: an address that its
// rows will have, or the object's own name for rows that name it.
type stopwatch struct {
	mu      sync.Mutex
	kinds   map[string][]*change
	marks   map[string]*change // not committed yet
	objects map[string]*change // not delivered yet
	rows    int                // changes of rows so far
	tables  map[string]int     // the same by table
	commits []time.Time        // of the transactions that changed a row
	events  []time.Time        // of the plain watches
	update  int                // the number of the latest transaction
}

func newStopwatch() *stopwatch {
	return &stopwatch{kinds: map[string][]*change{}, marks: map[string]*change{}, objects: map[string]*change{}, tables: map[string]int{}}
}

// begin notes that a change is about to be requested. The function returned is called with its answer.
func (s *stopwatch) begin(kind, object, mark string) (done func(version string)) {
	_, done = s.follow(kind, object, mark)
	return done
}

// follow is begin for a caller who needs the change.
func (s *stopwatch) follow(kind, object, mark string) (c *change, done func(version string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c = &change{}
	s.kinds[kind] = append(s.kinds[kind], c)
	s.marks[mark], s.objects[object] = c, c
	c.sent = time.Now()
	return c, func(version string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.answered, c.version = time.Now(), version
	}
}

// besideKey is in the external_ids of rows whose changes do not count: another client writes them to see how fast the database is.
const besideKey = "beside"

// anyRow is the mark of a change that is made while nothing else is under way: the first row that changes is one of its rows.
const anyRow = "*"

// row takes a change of the database.
func (s *stopwatch) row(c nbwatch.Change) {
	if c.ExternalIDs[besideKey] != "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows++
	s.tables[c.Table]++
	if s.update != c.Number {
		s.update, s.commits = c.Number, append(s.commits, c.At)
	}
	marks := c.Strings("addresses")
	if c.Table == "ACL" && c.Verb == nbwatch.Inserted {
		marks = []string{c.ExternalIDs["netloom.io/namespace"] + "/" + c.ExternalIDs["netloom.io/name"]}
	}
	for _, mark := range append(marks, anyRow) {
		if pending := s.marks[mark]; pending != nil {
			pending.committed = c.At
			delete(s.marks, mark)
		}
	}
}

// seen is how many changes of rows there have been.
func (s *stopwatch) seen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// seenIn is how many of them were in a table.
func (s *stopwatch) seenIn(table string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[table]
}

// moments are when there were transactions, and events of the plain watches.
func (s *stopwatch) moments() (commits, events []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commits), slices.Clone(s.events)
}

// committed reports whether the database has a change.
func (s *stopwatch) committed(c *change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !c.committed.IsZero()
}

// watch follows pods and policies from now on by a plain watch each, of the kind and the encoding that netloom uses.
func (s *stopwatch) watch(t *testing.T, kube *kubelab.Lab) (stop func()) {
	t.Helper()
	config := kube.Config()
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	forward := func(w watch.Interface, err error) {
		require.NoError(t, err)
		running.Go(func() {
			defer w.Stop()
			for e := range w.ResultChan() {
				s.event(e, time.Now())
			}
		})
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	require.NoError(t, err)
	from := metav1.ListOptions{ResourceVersion: pods.ResourceVersion}
	forward(client.CoreV1().Pods("").Watch(ctx, from))
	forward(client.NetworkingV1().NetworkPolicies("").Watch(ctx, from))
	return func() {
		cancel()
		running.Wait()
	}
}

// event takes the first event of an object since its change began.
func (s *stopwatch) event(e watch.Event, at time.Time) {
	o, ok := e.Object.(metav1.Object)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, at)
	if c := s.objects[key(o)]; c != nil {
		c.watched, c.event = at, o.GetResourceVersion()
		delete(s.objects, key(o))
	}
}

// delivered reports whether the plain watch had the event of a change.
func (s *stopwatch) delivered(c *change) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !c.watched.IsZero()
}

// await waits until every change of these kinds is committed.
func (s *stopwatch) await(t *testing.T, netloom *kubelab.Pod, kinds ...string) {
	t.Helper()
	await.True(t, func() bool {
		netloom.Running()
		s.mu.Lock()
		defer s.mu.Unlock()
		return !slices.ContainsFunc(kinds, func(kind string) bool {
			return slices.ContainsFunc(s.kinds[kind], func(c *change) bool { return c.committed.IsZero() })
		})
	}, "every change has its rows")
}

// of returns the changes of a kind, for use after all is over.
func (s *stopwatch) of(kind string) []*change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kinds[kind])
}

// quantile is the time below which the share q of all is.
func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[min(int(q*float64(len(all))), len(all)-1)]
}
