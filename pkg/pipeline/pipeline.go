// Package pipeline turns what a source delivers into snapshots: one goroutine drains the source, feeds the translator and
// publishes the result.
package pipeline

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
	"github.com/netloom/netloom/translator/field"
)

// Pipeline turns what a source delivers into snapshots. One goroutine runs it; the newest snapshot and its problems may be
// read by any.
type Pipeline struct {
	source      source.Source
	translator  *translator.Translator
	log         logrus.FieldLogger
	published   []func(Published)
	undelivered map[object.Ref]bool // drained before the source had synced
	tasks       *tasks
	collected   [][]object.Problem // the inputs of the last problem list
	told        problemLog
	others      Others                        // nil if there is one cluster
	retainer    retainer                      // the source, if it keeps missing objects; nil otherwise
	inTargets   func() []retention.KeptObject // what targets keep; nil if none keeps anything
	intake      intake
	follows     func(intent.Revision) bool // whether the targets have a revision; nil if nothing is known of them
	sliced      time.Time                  // when a snapshot last had a slice of what waits
	divided     time.Time                  // when policies were last divided again, or since when there are some to divide
	cluster     string
	everywhere  bool // selectors of peers that name no cluster select pods of all of them

	mu          sync.RWMutex
	latest      *intent.Snapshot
	edition     uint64              // of latest; 0 means none
	beyond      *source.Undelivered // what the source does not deliver; nil if that was not looked for
	problems    []object.Problem
	unavailable []string
	kept        []retention.Object
	stats       Stats
	backlog     backlog
	refs        map[object.Ref]struct{} // of the objects that were read, unless the source keeps them: there are many
}

// Published is a new snapshot and what it was made from.
type Published struct {
	Snapshot    *intent.Snapshot
	View        labelcache.View  // the endpoints that it was made from
	Events      []object.Ref     // what was drained for it, the first time since the start; each once
	Since       time.Time        // when the pipeline woke for it
	Took        time.Duration    // to translate
	Problems    []object.Problem // in order; the same list as before if none has come or gone
	Unavailable []string         // kinds that cannot be read
	Kept        []retention.Object
	Staged      []object.Ref // policies that are staged, sorted; they are not in the snapshot
	Stats       Stats
}

// Stats counts what a snapshot holds, and the policies that are staged.
type Stats struct{ Endpoints, Sets, Policies, Staged int }

// New makes the pipeline from source to snapshots. If the source keeps missing objects, they are judged in time, and
// reported.
func New(source source.Source, opts translator.Options, log logrus.FieldLogger) *Pipeline {
	retainer, _ := source.(retainer)
	return &Pipeline{
		retainer: retainer, cluster: opts.Cluster, everywhere: opts.ClusterSet == field.SetByDefault,
		source: source, translator: translator.New(opts), log: log, undelivered: map[object.Ref]bool{}, refs: map[object.Ref]struct{}{},
		tasks: newTasks(),
	}
}

// Others is the other clusters of a set: see package clusters. Feed is called by the pipeline's goroutine.
type Others interface {
	Wake() <-chan struct{}
	Ready() bool
	Feed(t *translator.Translator)
	Problems() []object.Problem
	Foreign() []source.Foreign // what was read; safe for concurrent use
}

// Join adds other clusters, whose pods policies may select as peers. It has to be called before Run.
func (p *Pipeline) Join(others Others) { p.others = others }

// KeptInTargets makes the pipeline report what targets keep as problems. It has to be called before Run.
func (p *Pipeline) KeptInTargets(list func() []retention.KeptObject) { p.inTargets = list }

// Translator returns the translator of the pipeline. Only functions called by OnPublish or Do may use it.
func (p *Pipeline) Translator() *translator.Translator { return p.translator }

// Follow makes changes of busy namespaces wait while the function reports that a target is behind the newest revision, for mostBehind at
// most. Nudge has to be called when this may have changed. It has to be called before Run.
func (p *Pipeline) Follow(follows func(intent.Revision) bool) { p.follows = follows }

// Nudge has the pipeline look again whether the targets are behind.
func (p *Pipeline) Nudge() {
	if p.Waits() {
		p.Do(func(*translator.Translator) {})
	}
}

// Waits reports whether the newest snapshot lacks changes that were drained.
func (p *Pipeline) Waits() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.backlog.queued.IsZero()
}

// OnPublish registers f to be called after each snapshot, in the pipeline's goroutine, after the functions added before. It
// has to be called before Run.
func (p *Pipeline) OnPublish(f func(Published)) { p.published = append(p.published, f) }

// Latest returns the newest snapshot, nil until the source has synced.
func (p *Pipeline) Latest() *intent.Snapshot {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.latest
}

// Stats counts what the newest snapshot holds.
func (p *Pipeline) Stats() Stats {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.stats
}

// Edition counts the published snapshots, and the changes of what is not delivered: results made from the pipeline's state at one edition are the same.
func (p *Pipeline) Edition() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.edition
}

// WriteManifests writes every object that was read, as it is now, as one List in JSON, without the fields that netloom does
// not use. The other clusters of a set are written with it.
func (p *Pipeline) WriteManifests(w io.Writer) error {
	p.mu.RLock()
	beyond := p.beyond
	p.mu.RUnlock()
	return manifest.Write(w, p.source, p.read(), p.clusterSet(), beyond)
}

// SetBeyond tells the pipeline what its source does not deliver, for WriteManifests. It is safe for concurrent use.
func (p *Pipeline) SetBeyond(found *source.Undelivered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beyond = found
	if p.edition > 0 {
		p.edition++
	}
}

// read lists the objects that were read, sorted.
func (p *Pipeline) read() []object.Ref {
	if p.retainer != nil {
		return p.retainer.Refs()
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(p.refs), object.Ref.Compare)
}

// clusterSet returns the set of clusters; nil if there is one cluster.
func (p *Pipeline) clusterSet() *manifest.ClusterSet {
	if p.others == nil {
		return nil
	}
	return &manifest.ClusterSet{Own: p.cluster, Everywhere: p.everywhere, Others: p.others.Foreign()}
}

// Run works until ctx ends. It does not run the source.
func (p *Pipeline) Run(ctx context.Context) error {
	var joined <-chan struct{}
	if p.others != nil {
		joined = p.others.Wake()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.source.Wake():
			p.Step()
		case <-joined:
			p.Step()
		case <-p.tasks.wake:
			p.Step()
		case <-p.due():
			p.Step()
		case <-p.nextSlice():
			p.Step()
		case <-p.nextDivision():
			p.Step()
		case <-p.nextLog():
			p.told.settle(p.log)
		}
	}
}

// Step reads what the source has and publishes a snapshot of it once the source has synced. Run calls it; it may be called
// instead of Run.
func (p *Pipeline) Step() {
	began := time.Now()
	p.tasks.run(p.translator)
	// Before the drain: what has been listed by now is drained below.
	synced, unavailable := p.source.Synced() && p.joined(), p.source.Unavailable()
	p.drain(began)
	refs := p.admit(synced)
	if refs = p.unreported(refs, synced); !synced {
		p.setProblems(p.collectProblems()) // the possible reason
		return
	}
	p.translator.SetUnknown(UnknownAreas(unavailable))
	snapshot := p.snapshot()
	kept := p.keptNow()
	problems := p.collectProblems(p.translator.Problems(), p.missing(kept), p.keptProblems())
	stats := p.count(snapshot)

	p.mu.Lock()
	p.edition++
	p.backlog.queued = p.intake.oldest()
	p.backlog.publish(snapshot.Revision(), revisionOf(p.latest))
	p.latest, p.problems, p.unavailable, p.kept, p.stats = snapshot, problems, unavailable, kept, stats
	p.mu.Unlock()
	for _, f := range p.published {
		f(Published{
			Snapshot: snapshot, View: p.translator.View(), Events: refs, Since: began, Took: time.Since(began),
			Problems: problems, Unavailable: unavailable, Kept: kept, Staged: p.translator.Staged(), Stats: stats,
		})
	}
}

// joined takes the changes of other clusters, and reports whether a snapshot may be made without waiting for more.
func (p *Pipeline) joined() bool {
	if p.others == nil {
		return true
	}
	ready := p.others.Ready()
	p.others.Feed(p.translator)
	return ready
}

// drain queues the changes from the source, and records since when they wait.
func (p *Pipeline) drain(now time.Time) {
	if since := p.source.DirtySince(); !since.IsZero() {
		now = since
	}
	p.mu.Lock()
	before := p.backlog.taken
	p.backlog.take(now) // before it leaves the source, so that it is always in one of them
	p.mu.Unlock()
	refs := p.source.Drain()
	if len(refs) == 0 {
		p.mu.Lock()
		p.backlog.taken = before
		p.mu.Unlock()
	}
	for _, ref := range refs {
		c := change{ref: ref, since: now}
		if o, ok := p.source.Get(ref); ok {
			c.object, c.cost = o, p.translator.Estimate(o)
		} else {
			had, _ := p.translator.Policy(ref)
			c.cost = p.translator.Estimate(had)
		}
		if p.retainer == nil {
			p.note(ref, c.object != nil)
		}
		p.intake.add(c)
	}
}

// mostBehind is how long changes wait for a target that is behind.
const mostBehind = time.Second

// admit gives queued changes to the translator: all of them before the first snapshot, later as much as goes into one. It returns whose
// they are, sorted.
func (p *Pipeline) admit(synced bool) []object.Ref {
	var changes []change
	if !synced || p.latest == nil {
		changes = p.intake.all()
	} else {
		changes = p.intake.light()
		if p.intake.waits() && p.sliceIn() <= 0 && p.intake.mayFollow(len(changes) > 0) {
			changes = append(changes, p.slice()...)
			p.sliced = time.Now()
		}
	}
	refs := make([]object.Ref, len(changes))
	p.mu.Lock()
	for i := range changes { // those that have waited were taken from the source for an earlier snapshot
		p.backlog.take(changes[i].since)
	}
	p.mu.Unlock()
	for i := range changes {
		refs[i] = changes[i].ref
		p.take(&changes[i])
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return slices.Compact(refs)
}

// slice takes the next slice of what waits. If that is a single large object, it is taken only after its sets have been announced, which is
// what the slices before it are for.
func (p *Pipeline) slice() []change {
	if c := p.intake.next(p.translator.Estimate); c.cost > sliceSize && !p.translator.Prepare(c.object, prefixesOfSlice) {
		return nil
	}
	p.translator.Prepare(nil, 0)
	return p.intake.slice()
}

// sliceIn is how long what waits has to go on waiting.
func (p *Pipeline) sliceIn() time.Duration {
	if p.follows == nil || p.follows(revisionOf(p.latest)) {
		return 0
	}
	return time.Until(p.sliced.Add(mostBehind))
}

// nextSlice receives when the next slice of waiting changes is due; nil if none are waiting.
func (p *Pipeline) nextSlice() <-chan time.Time {
	if !p.intake.waits() {
		return nil
	}
	return time.After(max(0, p.sliceIn()))
}

// revisionOf returns the revision of a snapshot, 0 for none.
func revisionOf(s *intent.Snapshot) intent.Revision {
	if s == nil {
		return 0
	}
	return s.Revision()
}

// unreported returns the refs to publish, each once: those drained now, and those drained before the source had synced.
func (p *Pipeline) unreported(refs []object.Ref, synced bool) []object.Ref {
	if synced && len(p.undelivered) == 0 {
		return refs
	}
	for _, ref := range refs {
		if _, ok := source.Hold(p.source, ref); ok || p.latest != nil {
			p.undelivered[ref] = true
		} else {
			delete(p.undelivered, ref) // it came and went before the first snapshot
		}
	}
	if !synced {
		return nil
	}
	refs = slices.SortedFunc(maps.Keys(p.undelivered), object.Ref.Compare)
	p.undelivered = map[object.Ref]bool{} // it may have been large
	return refs
}

func (p *Pipeline) take(c *change) {
	if c.object == nil {
		p.translator.Remove(c.ref.Kind, c.ref.Namespace, c.ref.Name)
		return
	}
	if err := p.translator.Put(c.object); err != nil {
		p.log.WithError(err).WithField("object", c.ref.String()).Warn("object left out")
	}
}

// note records whether an object was read.
func (p *Pipeline) note(ref object.Ref, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.refs[ref] = struct{}{}
	} else {
		delete(p.refs, ref)
	}
}

func (p *Pipeline) count(s *intent.Snapshot) Stats {
	return Stats{
		Endpoints: p.translator.View().EndpointCount(), Sets: s.SetCount(), Policies: s.PolicyCount(), Staged: len(p.translator.Staged()),
	}
}

// String describes s in words.
func (s Stats) String() string {
	text := fmt.Sprintf("%d endpoints, %d sets, %d policies", s.Endpoints, s.Sets, s.Policies)
	if s.Staged > 0 {
		text += fmt.Sprintf(", %d staged", s.Staged)
	}
	return text
}
