package daemon

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/controller"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
)

// sizeInterval is the least time between two tellings of how many pods and addresses sets hold.
const sizeInterval = 10 * time.Second

// feedback tells people what becomes of NetworkPolicies and Services. One goroutine judges, writes and tells.
type feedback struct {
	*book
	latest  func() *intent.Snapshot
	targets func(began time.Time) []report.Target
	cluster string
	node    string
	objects *policyObjects       // nil writes no PolicyStatus
	events  record.EventRecorder // nil makes no Events
	refused *controller.Refusals // what it may not do; nil where nobody notes it
	log     logrus.FieldLogger

	// Only Run's goroutine touches these.
	began    time.Time
	said     map[object.Ref]*said
	users    map[intent.SetID]map[object.Ref]bool
	later    map[object.Ref]*retry
	held     retry // when writing is tried again that the API refused or did not answer
	sizesDue time.Time
	seen     uint64          // the sequence of the book before the last world was made
	sizing   bool            // sizes are told of what is looked at
	stood    []report.Target // how the targets stood in the last world
}

// said is what was told of an object last.
type said struct {
	uid     string
	status  *v1alpha1.PolicyStatusStatus
	view    *v1alpha1.PolicyStatusStatus // what this netloom made of the policy when its object was as it should be last
	service report.Service
	sets    []intent.SetID // whose sizes were told
}

// Run works until ctx ends. It may be run again.
func (f *feedback) Run(ctx context.Context) error {
	f.began, f.sizesDue, f.held = time.Now(), time.Now().Add(sizeInterval), retry{}
	f.sizing, f.stood = true, nil
	f.said, f.users, f.later = map[object.Ref]*said{}, map[intent.SetID]map[object.Ref]bool{}, map[object.Ref]*retry{}
	f.begin()
	defer f.rest()
	for {
		timer := time.NewTimer(time.Until(f.due()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-f.wake:
		case <-timer.C:
		}
		timer.Stop()
		if wait(ctx, statusGather) {
			f.settleAll(ctx)
		}
	}
}

// due is when something has to be looked at though nothing happens.
func (f *feedback) due() time.Time {
	now := time.Now()
	first := now.Add(statusRetryMax)
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	earlier(f.nextStale(now))
	earlier(f.held.due)
	if f.anySized() {
		earlier(f.sizesDue)
	}
	if since := f.began.Add(staleAfter); since.After(now) {
		earlier(since)
	}
	for _, r := range f.later {
		earlier(r.due)
	}
	return first
}

// settleAll looks at every object that is to be looked at, until none is left.
func (f *feedback) settleAll(ctx context.Context) {
	now := time.Now()
	if !f.held.due.IsZero() {
		if f.held.due.After(now) {
			return
		}
		f.held.due = time.Time{}
	}
	for key, r := range f.later {
		if !r.due.IsZero() && !r.due.After(now) {
			r.due = time.Time{}
			f.mark(key, calm)
		}
	}
	if !f.sizesDue.After(now) && f.anySized() {
		f.sizing, f.sizesDue = true, now.Add(sizeInterval)
		for _, id := range f.takeSized() {
			for key := range f.users[id] {
				f.mark(key, calm)
			}
		}
	}
	f.turn(ctx)
}

// turn looks at what is to be looked at, in worlds that are not past.
func (f *feedback) turn(ctx context.Context) {
	for ctx.Err() == nil {
		f.seen = f.sequence() // first: what moves from here on is seen
		f.markUncovered()
		world := f.world()
		if world == nil || world.Pending() || f.objects != nil && !f.objects.settled() {
			return // whatever ends that rings
		}
		for ctx.Err() == nil {
			e, moved := f.next(f.seen)
			if moved {
				break
			}
			if e == nil {
				f.sizing = false
				return
			}
			if !e.there {
				f.forget(e.key)
				continue
			}
			if err := f.judge(ctx, world, e.key, e.is); err != nil && f.hold(e.key, err) {
				f.mark(e.key, calm)
				return
			}
		}
	}
}

// hold decides when to try again after an error. It is true when nothing else need be tried before.
func (f *feedback) hold(key object.Ref, err error) bool {
	r := f.later[key]
	all := concernsAll(err)
	if all {
		r = &f.held
	} else if r == nil {
		r = &retry{}
		f.later[key] = r
	}
	if r.pause == 0 {
		r.pause = statusRetryMin / 2
		f.log.WithError(err).WithField("object", key.Kind+" "+key.Namespace+"/"+key.Name).
			Warn("status of a policy cannot be written, trying again")
	}
	r.pause = min(2*r.pause, feedbackRetryMax)
	r.due = time.Now().Add(r.pause)
	return all
}

// feedbackRetryMax is the longest pause between two attempts: what is missing comes back without anybody telling.
const feedbackRetryMax = 30 * time.Second

// world is what is known now; nil before the first snapshot. Where a target stands otherwise than before in a way that
// concerns all policies, all are looked at.
func (f *feedback) world() *report.World {
	targets := f.targets(f.began) // first: the snapshot is not older then
	snapshot := f.latest()
	if snapshot == nil {
		return nil
	}
	if !slices.EqualFunc(f.stood, targets, func(a, b report.Target) bool {
		return a.Name == b.Name && a.Stale == b.Stale && slices.Equal(a.Skips, b.Skips)
	}) {
		f.stood = targets
		f.markAll()
	}
	return report.NewWorld(report.Facts{
		Snapshot: snapshot, Targets: targets, Problems: f.problems(), Cluster: f.cluster, Nodes: f.nodeNames(),
		Now: metav1.NewTime(time.Now().UTC().Truncate(time.Second)),
	})
}

// judge tells what is new of an object.
func (f *feedback) judge(ctx context.Context, world *report.World, key object.Ref, is told) error {
	if r := f.later[key]; r != nil && r.due.After(time.Now()) {
		return nil // it is looked at then
	}
	was := f.said[key]
	if was != nil && was.uid != is.uid {
		f.forget(key)
		was = nil
	}
	if key.Kind == report.KindService {
		f.judgeService(world, key, is, was)
		return nil
	}
	return f.judgePolicy(ctx, world, key, is, was)
}

func (f *feedback) judgePolicy(ctx context.Context, world *report.World, key object.Ref, is told, was *said) error {
	p := report.Policy{
		Namespace: key.Namespace, Name: key.Name, Generation: is.generation, UID: types.UID(is.uid),
	}
	had := &v1alpha1.PolicyStatusStatus{}
	var object *v1alpha1.PolicyStatus
	if f.objects != nil {
		object = f.objects.current(key)
	}
	switch {
	case object != nil && ownedBy(object, is.uid):
		had = &object.Status
	case was != nil:
		had = was.status
	}
	own := world.Status(p, had)
	compose := f.composer(world, p, was, had, &own)
	now := compose(had)
	f.settle(key, world.Settled(&now), f.seen)
	f.tell(world, key, is, was, had, &now)
	s := &said{uid: is.uid, status: &now}
	if was != nil {
		s.view = was.view
	}
	f.remember(world, p, s)
	if f.objects == nil {
		return nil
	}
	if object == nil || !ownedBy(object, is.uid) || !f.asItIs(had, &now) {
		written, err := f.objects.write(ctx, world, key, is.uid, object, &now, compose)
		if err != nil {
			return err
		}
		if !written {
			return nil
		}
		f.held = retry{}
	}
	delete(f.later, key)
	s.view = &own
	return nil
}

// composer says what the object of a policy is to say, given what it says. Where each node has a netloom, what another wrote
// of this generation of the policy stands until this one sees something new.
func (f *feedback) composer(
	world *report.World, p report.Policy, was *said, had, own *v1alpha1.PolicyStatusStatus,
) func(*v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus {
	adopts := f.node != "" && had.ObservedGeneration == p.Generation &&
		(was == nil || was.view != nil && report.SameView(was.view, own))
	return func(had *v1alpha1.PolicyStatusStatus) v1alpha1.PolicyStatusStatus {
		out := world.Status(p, had)
		if adopts && had.ObservedGeneration == p.Generation {
			world.Adopt(p, &out, had)
		}
		return out
	}
}

// asItIs says whether a status may stay as it is for now. Sizes are told once in a while only.
func (f *feedback) asItIs(had, now *v1alpha1.PolicyStatusStatus) bool {
	switch report.Compare(had, now) {
	case report.Same:
		return true
	case report.Sizes:
		return !f.sizing
	case report.Meaning:
	}
	return false
}

// tell makes Events of what is new. What was there at the start and is as it was said to be is not news, its problems
// and pods that are not protected aside.
func (f *feedback) tell(world *report.World, key object.Ref, is told, was *said, had, now *v1alpha1.PolicyStatusStatus) {
	if f.events == nil {
		return
	}
	before := had
	switch {
	case was != nil:
		before = was.status
	case is.first && had.ObservedGeneration == 0:
		before = now.DeepCopy()
		before.Problems = nil
		for i := range before.Targets {
			if t := &before.Targets[i]; t.Reason == report.ReasonPodsWithoutPort {
				t.Reason = ""
			}
		}
	}
	for _, n := range world.Notes(before, now) {
		f.event(key, is, n)
	}
}

// remember keeps what was said of a policy, and whose sizes.
func (f *feedback) remember(world *report.World, p report.Policy, s *said) {
	key := p.Key()
	f.forgetSets(key)
	s.sets = world.Sets(p)
	for _, id := range s.sets {
		if f.users[id] == nil {
			f.users[id] = map[object.Ref]bool{}
		}
		f.users[id][key] = true
	}
	f.said[key] = s
}

func (f *feedback) forget(key object.Ref) {
	f.forgetSets(key)
	delete(f.said, key)
	delete(f.later, key)
	if f.objects != nil {
		f.objects.forget(key)
	}
}

func (f *feedback) forgetSets(key object.Ref) {
	s := f.said[key]
	if s == nil {
		return
	}
	for _, id := range s.sets {
		delete(f.users[id], key)
		if len(f.users[id]) == 0 {
			delete(f.users, id)
		}
	}
}

// judgeService makes Events of what is new of a Service.
func (f *feedback) judgeService(world *report.World, key object.Ref, is told, was *said) {
	if f.events == nil {
		return
	}
	before := report.Service{}
	if was != nil {
		before = was.service
	}
	now, settled := world.Service(key, before)
	f.settle(key, settled, f.seen)
	if was == nil && is.first {
		before.Balanced = now.Balanced
	}
	for _, n := range now.Notes(before) {
		f.event(key, is, n)
	}
	f.said[key] = &said{uid: is.uid, service: now}
}
