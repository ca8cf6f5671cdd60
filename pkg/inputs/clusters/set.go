package clusters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// Reads returns what is read of other clusters.
func Reads() source.Options {
	return source.Options{Kinds: []string{object.KindNamespace, object.KindPod}, NoServices: true}
}

// DefaultPatience is how long the first snapshot waits for clusters that cannot be read yet.
const DefaultPatience = 30 * time.Second

// Cluster is another cluster.
type Cluster struct {
	Name   string
	Source source.Source // of what Reads returns
}

// Registry has clusters join a set and leave it while the set runs.
type Registry interface {
	// Run changes the set until ctx ends.
	Run(ctx context.Context) error
	// Synced reports whether the clusters that existed at the start have joined.
	Synced() bool
	// Lost returns the time since which the list of clusters is unknown; zero if it is known.
	Lost() time.Time
	// Problems lists why clusters could not join.
	Problems() []object.Problem
}

// Set is the other clusters of a set. Feed is called by one goroutine; the other methods are safe for concurrent use.
type Set struct {
	log      logrus.FieldLogger
	wake     chan struct{} // of size 1
	registry Registry      // nil if there is none

	mu       sync.Mutex
	clusters []*cluster     // by name
	left     []string       // clusters that a translator may still have
	start    func(*cluster) // reads a cluster; nil while the set does not run
	patience time.Duration  // 0 once it is over
	ready    bool           // once true, it stays so
}

// cluster is what is known of another cluster.
type cluster struct {
	Cluster

	stop func() // ends reading; nil before it begins

	mu   sync.Mutex
	lost time.Time // since when it cannot be read; zero if it can
	pods int
	refs map[object.Ref]struct{} // of the objects that it has
}

// New makes a set of other clusters. Zero patience is DefaultPatience; it begins with Run.
func New(clusters []Cluster, patience time.Duration, log logrus.FieldLogger) *Set {
	if patience == 0 {
		patience = DefaultPatience
	}
	s := &Set{log: log, wake: make(chan struct{}, 1), patience: patience}
	for _, c := range clusters {
		s.add(c)
	}
	return s
}

// Follow makes clusters join and leave as a registry directs. It has to be called before Run.
func (s *Set) Follow(r Registry) { s.registry = r }

// Join adds a cluster. It fails if there is one of that name.
func (s *Set) Join(c Cluster) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.clusters, func(o *cluster) bool { return o.Name == c.Name }) {
		return fmt.Errorf("there is already a cluster %s", c.Name)
	}
	joined := s.add(c)
	if s.start != nil {
		s.start(joined)
	}
	s.Ring()
	return nil
}

// add files a cluster under its name.
func (s *Set) add(c Cluster) *cluster {
	added := &cluster{Cluster: c, refs: map[object.Ref]struct{}{}}
	i, _ := slices.BinarySearchFunc(s.clusters, c.Name, func(o *cluster, name string) int { return strings.Compare(o.Name, name) })
	s.clusters = slices.Insert(s.clusters, i, added)
	return added
}

// Leave removes a cluster with everything that was read of it. An unknown one is not an error.
func (s *Set) Leave(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.clusters, func(c *cluster) bool { return c.Name == name })
	if i < 0 {
		return
	}
	if c := s.clusters[i]; c.stop != nil {
		c.stop()
	}
	s.clusters = slices.Delete(s.clusters, i, i+1)
	s.left = append(s.left, name)
	s.Ring()
}

// all returns the present clusters.
func (s *Set) all() []*cluster {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.clusters)
}

// Run reads the clusters until ctx ends. It fails if one of them cannot be read at all.
func (s *Set) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	timer := time.AfterFunc(s.patience, s.giveUp)
	defer timer.Stop()
	s.mu.Lock()
	s.start = func(c *cluster) { s.read(ctx, group, c) }
	for _, c := range s.clusters {
		s.start(c)
	}
	s.mu.Unlock()
	if s.registry != nil {
		group.Go(func() error { return s.registry.Run(ctx) })
	}
	group.Go(func() error {
		<-ctx.Done()
		s.mu.Lock()
		s.start = nil
		s.mu.Unlock()
		return nil
	})
	return group.Wait()
}

// read reads a cluster until ctx ends or it leaves. The lock is held.
func (s *Set) read(ctx context.Context, group *errgroup.Group, c *cluster) {
	ctx, c.stop = context.WithCancel(ctx)
	group.Go(func() error {
		if err := c.Source.Run(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("cluster %s: %w", c.Name, err)
		}
		return nil
	})
	group.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-c.Source.Wake():
				s.notice(c)
				s.Ring()
			}
		}
	})
}

// Read reads every cluster once. It fails if that takes longer than ctx: results without one of them would be wrong. A nil set has
// nothing to read.
func (s *Set) Read(ctx context.Context) error {
	if s == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	reading, cancel := context.WithCancel(ctx)
	group.Go(func() error { return s.Run(reading) })
	group.Go(func() error {
		defer cancel()
		return s.await(ctx)
	})
	return group.Wait()
}

// await waits until every cluster has been read.
func (s *Set) await(ctx context.Context) error {
	for !s.allRead() {
		select {
		case <-s.wake:
		case <-ctx.Done():
			var faults []error
			for _, p := range s.Problems() {
				faults = append(faults, p)
			}
			return fmt.Errorf("other clusters were not listed in time: %w", errors.Join(faults...))
		}
	}
	return nil
}

func (s *Set) allRead() bool {
	if s.registry != nil && !s.registry.Synced() {
		return false
	}
	return !slices.ContainsFunc(s.all(), func(c *cluster) bool { return !c.Source.Synced() })
}

// giveUp ends the wait for clusters that cannot be read.
func (s *Set) giveUp() {
	s.mu.Lock()
	s.patience = 0
	s.mu.Unlock()
	for _, c := range s.all() {
		if !c.Source.Synced() {
			s.log.WithField("cluster", c.Name).Warn("cannot be read yet: its pods match no policy")
		}
	}
	s.Ring()
}

// Ring reports that Ready or Problems may have changed.
func (s *Set) Ring() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// notice records whether a cluster can be read.
func (s *Set) notice(c *cluster) {
	lost := c.Source.Synced() && slices.ContainsFunc(c.Source.Problems(), func(p object.Problem) bool {
		return p.Unread != object.UnreadNothing
	})
	c.mu.Lock()
	was := c.lost
	switch {
	case lost && was.IsZero():
		c.lost = time.Now()
	case !lost:
		c.lost = time.Time{}
	}
	c.mu.Unlock()
	switch log := s.log.WithField("cluster", c.Name); {
	case lost && was.IsZero():
		log.Warn("cannot be read: its pods stay as they were")
	case !lost && !was.IsZero():
		log.WithField("after", time.Since(was).Round(time.Second)).Info("can be read again")
	}
}

// Wake receives when a cluster changed, or when Ready or Problems may have.
func (s *Set) Wake() <-chan struct{} { return s.wake }

// Ready reports whether every cluster has been read once, or the wait for those that cannot be read is over. Until then, connections that
// only their pods are allowed are denied. A cluster that joins later is not waited for.
func (s *Set) Ready() bool {
	read := s.allRead()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = s.ready || read || s.patience == 0
	return s.ready
}

// Feed brings a translator up to date.
func (s *Set) Feed(t *translator.Translator) {
	s.mu.Lock()
	clusters, left := slices.Clone(s.clusters), s.left
	s.left = nil
	s.mu.Unlock()
	for _, name := range left {
		t.RemoveCluster(name)
	}
	for _, c := range clusters {
		refs := c.Source.Drain()
		for _, ref := range refs {
			o, ok := c.Source.Get(ref)
			c.keep(ref, ok)
			if !ok {
				t.RemoveOther(c.Name, ref.Kind, ref.Namespace, ref.Name)
				continue
			}
			if err := t.PutOther(c.Name, o); err != nil {
				s.log.WithError(err).WithField("object", ref.String()).Warn("object left out")
			}
		}
		if len(refs) > 0 {
			c.mu.Lock()
			c.pods = t.OtherPods(c.Name)
			c.mu.Unlock()
		}
	}
}

// keep records whether the cluster has an object.
func (c *cluster) keep(ref object.Ref, has bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if has {
		c.refs[ref] = struct{}{}
	} else {
		delete(c.refs, ref)
	}
}

// Foreign returns what was read of the clusters, by name.
func (s *Set) Foreign() []source.Foreign {
	clusters := s.all()
	out := make([]source.Foreign, 0, len(clusters))
	for _, c := range clusters {
		c.mu.Lock()
		refs := slices.SortedFunc(maps.Keys(c.refs), object.Ref.Compare)
		c.mu.Unlock()
		out = append(out, source.Foreign{Cluster: c.Name, Source: c.Source, Refs: refs, Unread: c.State().unread()})
	}
	return out
}

// Problems lists what cannot be read, and the objects that do not fit their type.
func (s *Set) Problems() []object.Problem {
	var out []object.Problem
	if s.registry != nil {
		out = s.registry.Problems()
	}
	for _, c := range s.all() {
		out = append(out, c.problems()...)
	}
	return out
}

// problems lists the problems of a cluster. They affect only its pods as peers, and nothing of the own cluster.
func (c *cluster) problems() []object.Problem {
	all := slices.Clone(c.Source.Problems())
	synced, state := c.Source.Synced(), c.State()
	for i := range all {
		p := &all[i]
		p.Cluster, p.Place.Path = c.Name, "cluster "+c.Name+": "+p.Place.Path
		if p.Unread == object.UnreadNothing {
			continue
		}
		p.Unread = object.UnreadNothing
		switch {
		case !synced:
			p.Message += "; its pods match no policy"
		case state.Lost.IsZero(): // it has just happened
			p.Message += "; its pods stay as they are"
		default:
			p.Message += "; its pods stay as they were at " + state.Lost.UTC().Format(time.TimeOnly)
		}
	}
	return all
}
