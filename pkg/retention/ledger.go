package retention

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/source"
)

// What a Ledger does where its Options say nothing.
const (
	DefaultFraction = 0.5
	DefaultLeast    = 3
	DefaultWindow   = time.Hour
)

// A list that lost many objects shows that one by one. What goes missing is judged once none has followed for settleTime,
// or settleMax after the first; until then it is in force.
const (
	settleTime = time.Second
	settleMax  = 10 * time.Second
)

// Options say when missing objects are kept.
type Options struct {
	// Fraction is the largest share of the objects of a kind, 0 to 1, that may go missing within the window. Zero lets none
	// go, 1 all of them.
	Fraction float64
	// Least is how many objects of a kind have to have been in force for the share to count; fewer may all go missing.
	// Zero is DefaultLeast.
	Least int
	// Window is for how long an object that went missing counts. Zero is DefaultWindow.
	Window time.Duration
}

// Object is an object that is kept.
type Object struct {
	Ref    object.Ref
	Object runtime.Object // as it was last known
	Since  time.Time      // when it went missing
}

// Ledger holds every object in force and decides what becomes of those that go. It is not safe for concurrent use. The
// objects are shared and are not changed.
type Ledger struct {
	opts    Options
	known   map[object.Ref]runtime.Object // in force, those that are kept too
	kept    map[object.Ref]time.Time
	missing map[object.Ref]bool // in force, not there, and not judged yet
	tallies map[string]*tally
	gone    map[string]time.Time // namespaces whose deletion was seen
	holders addresses            // of the pods that are kept
}

// NewLedger makes a ledger that knows of no objects.
func NewLedger(opts Options) *Ledger {
	if opts.Least <= 0 {
		opts.Least = DefaultLeast
	}
	if opts.Window <= 0 {
		opts.Window = DefaultWindow
	}
	return &Ledger{
		opts: opts, known: map[object.Ref]runtime.Object{}, kept: map[object.Ref]time.Time{}, tallies: map[string]*tally{},
		missing: map[object.Ref]bool{}, gone: map[string]time.Time{}, holders: addresses{},
	}
}

// Get is the object in force under ref, one that is kept too.
func (l *Ledger) Get(ref object.Ref) (runtime.Object, bool) {
	o, ok := l.known[ref]
	return o, ok
}

// Kept lists the objects that are kept, sorted.
func (l *Ledger) Kept() []Object {
	out := make([]Object, 0, len(l.kept))
	for ref, since := range l.kept {
		out = append(out, Object{Ref: ref, Object: l.known[ref], Since: since})
	}
	slices.SortFunc(out, func(a, b Object) int { return a.Ref.Compare(b.Ref) })
	return out
}

// Take takes in changes at a time, given what is there now, and returns what changed for the readers of the ledger: what
// was taken in, and what is in force no longer because of it or because it is missing. While a source lists its objects for
// the first time nothing is missing yet: judge is false.
func (l *Ledger) Take(now time.Time, changes []source.Change, get func(object.Ref) (runtime.Object, bool), judge bool) []object.Ref {
	refs := make([]object.Ref, 0, len(changes))
	there := make(map[object.Ref]runtime.Object, len(changes))
	for _, c := range changes {
		refs = append(refs, c.Ref)
		if o, ok := get(c.Ref); ok {
			there[c.Ref] = o
		} else if c.Deleted && c.Ref.Kind == object.KindNamespace {
			refs = append(refs, l.removeIn(c.Ref.Name, now)...)
		}
	}
	for _, c := range changes {
		_, known := l.known[c.Ref]
		switch {
		case !known || there[c.Ref] != nil:
		case c.Deleted, !judge, !isJudged(c.Ref.Kind), l.isGone(c.Ref.Namespace):
			l.remove(c.Ref)
		default:
			l.miss(c.Ref, now)
		}
	}
	for ref, o := range there {
		refs = append(refs, l.put(ref, o)...)
	}
	refs = append(refs, l.judge(now)...)
	slices.SortFunc(refs, object.Ref.Compare)
	return slices.Compact(refs)
}

// Due is when what is missing is to be judged, by a Take without changes if need be; false when nothing waits for that.
func (l *Ledger) Due() (time.Time, bool) {
	var first time.Time
	for _, t := range l.tallies {
		if due, ok := t.due(); ok && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	return first, !first.IsZero()
}

// miss notes that an object is missing.
func (l *Ledger) miss(ref object.Ref, now time.Time) {
	_, kept := l.kept[ref]
	if kept || l.missing[ref] {
		return
	}
	l.missing[ref] = true
	l.tally(ref.Kind).miss(now)
}

// judge lets go what is missing, or keeps it, where it is time to, and returns both.
func (l *Ledger) judge(now time.Time) []object.Ref {
	keep := map[string]bool{}
	for kind, t := range l.tallies {
		if due, ok := t.due(); ok && !now.Before(due) {
			keep[kind] = t.judge(now, l.opts, comesAndGoes(kind))
		}
	}
	if len(keep) == 0 {
		return nil
	}
	var refs []object.Ref
	for ref := range l.missing {
		keeps, judged := keep[ref.Kind]
		if !judged {
			continue
		}
		refs = append(refs, ref)
		delete(l.missing, ref)
		if keeps {
			l.kept[ref] = now
			l.holders.add(ref, l.known[ref])
			continue
		}
		l.tally(ref.Kind).lost[ref] = now
		delete(l.known, ref)
	}
	if keep[object.KindPod] {
		refs = append(refs, l.removeReplaced()...)
	}
	return refs
}

// removeReplaced removes the pods that are kept and whose address another pod has.
func (l *Ledger) removeReplaced() []object.Ref {
	var out []object.Ref
	for ref, o := range l.known {
		if _, kept := l.kept[ref]; kept || ref.Kind != object.KindPod || l.missing[ref] {
			continue
		}
		out = append(out, l.holders.heldBy(ref, o)...)
	}
	for _, ref := range out {
		l.remove(ref)
	}
	return out
}

// put takes in an object that is there, and returns the pods that go for it.
func (l *Ledger) put(ref object.Ref, o runtime.Object) []object.Ref {
	t := l.tally(ref.Kind)
	if _, known := l.known[ref]; !known {
		t.present++
		delete(t.lost, ref)
	}
	l.find(ref)
	l.known[ref] = o
	if ref.Kind == object.KindNamespace {
		delete(l.gone, ref.Name)
	}
	others := l.holders.heldBy(ref, o)
	for _, other := range others {
		l.remove(other)
	}
	return others
}

// find ends that an object is missing or kept: it is there, or it is known where it went.
func (l *Ledger) find(ref object.Ref) {
	t := l.tally(ref.Kind)
	if l.missing[ref] {
		delete(l.missing, ref)
		t.missing--
	}
	if _, kept := l.kept[ref]; kept {
		l.holders.remove(ref, l.known[ref])
		delete(l.kept, ref)
		t.kept--
		t.present++
	}
}

// remove takes out an object that is meant to be gone.
func (l *Ledger) remove(ref object.Ref) {
	l.find(ref)
	t := l.tally(ref.Kind)
	t.present--
	t.deleted++
	delete(l.known, ref)
}

// removeIn takes out what is missing of a namespace that was deleted.
func (l *Ledger) removeIn(namespace string, now time.Time) []object.Ref {
	for name, at := range l.gone {
		if now.Sub(at) > l.opts.Window {
			delete(l.gone, name)
		}
	}
	l.gone[namespace] = now
	var out []object.Ref
	for _, ref := range slices.Concat(slices.Collect(maps.Keys(l.kept)), slices.Collect(maps.Keys(l.missing))) {
		if ref.Namespace == namespace {
			l.remove(ref)
			out = append(out, ref)
		}
	}
	return out
}

// Approve removes objects that are kept: somebody says that they are meant to be gone. What went missing before, of their
// kinds, counts no more.
func (l *Ledger) Approve(refs []object.Ref) {
	for _, ref := range refs {
		if _, kept := l.kept[ref]; !kept {
			continue
		}
		l.remove(ref)
		t := l.tally(ref.Kind)
		t.deleted += len(t.lost)
		clear(t.lost)
	}
}

// isGone says whether the deletion of a namespace was seen, not long ago, and there is no new one of its name.
func (l *Ledger) isGone(namespace string) bool {
	_, gone := l.gone[namespace]
	return gone
}

// isJudged says whether objects of a kind are kept where too many are missing. Those of others say how things stand, and
// nothing is made of them.
func isJudged(kind string) bool { return kind != "CNFStatus" }

// comesAndGoes says whether the objects of a kind have names that are made up, so that others take the place of those
// that go.
func comesAndGoes(kind string) bool {
	return kind == object.KindPod || kind == object.KindEndpointSlice
}

func (l *Ledger) tally(kind string) *tally {
	t := l.tallies[kind]
	if t == nil {
		t = &tally{lost: map[object.Ref]time.Time{}}
		l.tallies[kind] = t
	}
	return t
}
