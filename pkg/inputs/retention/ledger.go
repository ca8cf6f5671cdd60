package retention

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// The defaults of Options.
const (
	DefaultFraction = 0.5
	DefaultLeast    = 3
	DefaultWindow   = time.Hour
)

// A list that lost many objects shows that one by one. Missing objects are judged once no other has followed for
// settleTime, or settleMax after the first; until then they are in force.
const (
	settleTime = time.Second
	settleMax  = 10 * time.Second
)

// Options configure when missing objects are kept.
type Options struct {
	// Fraction is the largest share of the objects of a kind, 0 to 1, that may be removed within the window after they
	// went missing. Zero keeps all of them, 1 none.
	Fraction float64
	// Least is how many objects of a kind must have been in force for the share to apply; fewer may be removed, unless they are
	// the last policies of their kind: these are never removed because they are missing. Zero is DefaultLeast.
	Least int
	// Window is how long an object that went missing counts. Zero is DefaultWindow.
	Window time.Duration
}

// Object is an object that is kept.
type Object struct {
	Ref    object.Ref
	Object runtime.Object // as it was last known
	Since  time.Time      // when it went missing
}

// Ledger holds every object in force and decides which of the missing ones are kept. It is not safe for concurrent use.
// The objects are shared and are not changed.
type Ledger struct {
	opts     Options
	known    map[object.Ref]source.Held // in force, including those that are kept
	kept     map[object.Ref]time.Time
	missing  map[object.Ref]bool // in force, missing, and not judged yet
	tallies  map[string]*tally
	gone     map[string]time.Time // namespaces whose deletion was seen
	implied  map[string]bool      // namespaces in force that go with the last object in them
	staged   map[object.Ref]bool  // policies in force that count as staged
	stages   map[string]bool      // namespaces in force whose NetworkPolicies are staged unless they say otherwise
	in       map[string]int       // how many of known are in each namespace
	keptPods addresses            // their addresses
}

// NewLedger makes an empty ledger.
func NewLedger(opts Options) *Ledger {
	if opts.Least <= 0 {
		opts.Least = DefaultLeast
	}
	if opts.Window <= 0 {
		opts.Window = DefaultWindow
	}
	return &Ledger{
		opts: opts, known: map[object.Ref]source.Held{}, kept: map[object.Ref]time.Time{}, tallies: map[string]*tally{},
		missing: map[object.Ref]bool{}, gone: map[string]time.Time{}, implied: map[string]bool{}, in: map[string]int{}, keptPods: addresses{},
		staged: map[object.Ref]bool{}, stages: map[string]bool{},
	}
}

// Get is the object in force under ref, even if it is only kept.
func (l *Ledger) Get(ref object.Ref) (source.Held, bool) {
	o, ok := l.known[ref]
	return o, ok
}

// Refs lists the objects in force, sorted.
func (l *Ledger) Refs() []object.Ref {
	return slices.SortedFunc(maps.Keys(l.known), object.Ref.Compare)
}

// Kept lists the objects that are kept, sorted.
func (l *Ledger) Kept() []Object {
	out := make([]Object, 0, len(l.kept))
	for ref, since := range l.kept {
		out = append(out, Object{Ref: ref, Object: l.known[ref].Object(), Since: since})
	}
	slices.SortFunc(out, func(a, b Object) int { return a.Ref.Compare(b.Ref) })
	return out
}

// Take applies changes at a time, given what exists now, and returns what changed for the readers of the ledger: the
// changes, and the objects that are no longer in force because of them or because they are missing. While a source lists
// its objects for the first time nothing is missing yet: judge is false.
func (l *Ledger) Take(now time.Time, changes []source.Change, get func(object.Ref) (source.Held, bool), judge bool) []object.Ref {
	refs := make([]object.Ref, 0, len(changes))
	there := make(map[object.Ref]source.Held, len(changes))
	for _, c := range changes {
		refs = append(refs, c.Ref)
		if o, ok := get(c.Ref); ok {
			there[c.Ref] = o
		} else if c.Gone == source.Deleted && c.Ref.Kind == object.KindNamespace {
			refs = append(refs, l.removeIn(c.Ref.Name, now)...)
		}
	}
	for _, c := range changes {
		_, known := l.known[c.Ref]
		switch {
		case !known || there[c.Ref] != nil:
		case c.Gone == source.Deleted, !judge, !isJudged(c.Ref.Kind), l.isGone(c.Ref.Namespace):
			l.remove(c.Ref)
		case c.Gone == source.Implied:
			l.implied[c.Ref.Name] = true
		case c.Gone == source.Lost && object.IsPolicy(c.Ref.Kind):
			refs = append(refs, l.keep(c.Ref, now)...)
		default:
			l.miss(c.Ref, now)
		}
	}
	for ref, o := range there {
		refs = append(refs, l.put(ref, o)...)
	}
	refs = append(refs, l.judge(now)...)
	refs = append(refs, l.removeImplied()...)
	slices.SortFunc(refs, object.Ref.Compare)
	return slices.Compact(refs)
}

// Due is when missing objects are to be judged, by a Take without changes if need be; false if there are none.
func (l *Ledger) Due() (time.Time, bool) {
	var first time.Time
	for _, t := range l.tallies {
		if due, ok := t.due(); ok && (first.IsZero() || due.Before(first)) {
			first = due
		}
	}
	return first, !first.IsZero()
}

// miss records that an object is missing.
func (l *Ledger) miss(ref object.Ref, now time.Time) {
	_, kept := l.kept[ref]
	if kept || l.missing[ref] {
		return
	}
	l.missing[ref] = true
	l.tally(ref).miss(now)
}

// keep keeps an object whatever its share. It returns what that changes.
func (l *Ledger) keep(ref object.Ref, now time.Time) []object.Ref {
	if _, kept := l.kept[ref]; kept {
		return nil
	}
	l.find(ref)
	t := l.tally(ref)
	t.present--
	t.kept++
	l.kept[ref] = now
	return []object.Ref{ref}
}

// judge removes or keeps the missing objects that are due, and returns both. If too many of one kind are missing, those of others
// that went missing with them are kept, too.
func (l *Ledger) judge(now time.Time) []object.Ref {
	due := map[string]bool{}
	keep := false
	for class, t := range l.tallies {
		if at, ok := t.due(); ok && !now.Before(at) {
			due[class] = true
			keep = t.suspicious(now, l.opts, class) || keep
		}
	}
	for class := range due {
		l.tallies[class].settle(keep)
	}
	var refs []object.Ref
	for ref := range l.missing {
		if !due[l.class(ref)] {
			continue
		}
		refs = append(refs, ref)
		delete(l.missing, ref)
		if keep {
			l.kept[ref] = now
			l.keptPods.add(ref, l.known[ref])
			continue
		}
		l.tally(ref).lost[ref] = now
		l.drop(ref)
	}
	if keep && due[object.KindPod] {
		refs = append(refs, l.removeReplaced()...)
	}
	return refs
}

// removeImplied removes the implied namespaces that nothing is in.
func (l *Ledger) removeImplied() []object.Ref {
	var out []object.Ref
	for name := range l.implied {
		if l.in[name] > 0 {
			continue
		}
		delete(l.implied, name)
		if ref := (object.Ref{Kind: object.KindNamespace, Name: name}); l.known[ref] != nil {
			l.remove(ref)
			out = append(out, ref)
		}
	}
	return out
}

// drop forgets an object that is no longer in force.
func (l *Ledger) drop(ref object.Ref) {
	delete(l.known, ref)
	delete(l.staged, ref)
	if ref.Kind == object.KindNamespace {
		l.classifyIn(ref.Name)
	}
	if l.in[ref.Namespace]--; l.in[ref.Namespace] == 0 {
		delete(l.in, ref.Namespace)
	}
}

// removeReplaced removes the kept pods whose address another pod has.
func (l *Ledger) removeReplaced() []object.Ref {
	var out []object.Ref
	for ref, o := range l.known {
		if _, kept := l.kept[ref]; kept || ref.Kind != object.KindPod || l.missing[ref] {
			continue
		}
		out = append(out, l.keptPods.sharing(ref, o)...)
	}
	for _, ref := range out {
		l.remove(ref)
	}
	return out
}

// put adds an object that exists, and returns the pods that are removed because of it.
func (l *Ledger) put(ref object.Ref, o source.Held) []object.Ref {
	_, known := l.known[ref]
	if known {
		l.find(ref)
	}
	l.known[ref] = o
	if known {
		l.classify(ref)
	} else {
		l.setStaged(ref, l.isStaged(ref))
		t := l.tally(ref)
		t.present++
		l.in[ref.Namespace]++
		delete(t.lost, ref)
	}
	if ref.Kind == object.KindNamespace {
		l.classifyIn(ref.Name)
		delete(l.gone, ref.Name)
		delete(l.implied, ref.Name)
	}
	others := l.keptPods.sharing(ref, o)
	for _, other := range others {
		l.remove(other)
	}
	return others
}

// find records that an object is no longer missing or kept: it exists, or its deletion is known.
func (l *Ledger) find(ref object.Ref) {
	t := l.tally(ref)
	if l.missing[ref] {
		delete(l.missing, ref)
		t.missing--
	}
	if _, kept := l.kept[ref]; kept {
		l.keptPods.remove(ref, l.known[ref])
		delete(l.kept, ref)
		t.kept--
		t.present++
	}
}

// remove removes an object that was deleted.
func (l *Ledger) remove(ref object.Ref) {
	l.find(ref)
	t := l.tally(ref)
	t.present--
	t.deleted++
	l.drop(ref)
}

// removeIn removes the missing objects of a namespace that was deleted.
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

// Approve removes kept objects: a user confirmed that they are deleted. Earlier losses of their kinds no longer count.
func (l *Ledger) Approve(refs []object.Ref) {
	for _, ref := range refs {
		if _, kept := l.kept[ref]; !kept {
			continue
		}
		t := l.tally(ref)
		l.remove(ref)
		t.deleted += len(t.lost)
		clear(t.lost)
	}
}

// isGone reports whether the deletion of a namespace was seen recently, and there is no new one of its name.
func (l *Ledger) isGone(namespace string) bool {
	_, gone := l.gone[namespace]
	return gone
}

// isJudged reports whether objects of a kind are kept if too many are missing. Objects of other kinds are only status
// reports, from which nothing is made.
func isJudged(kind string) bool { return kind != "CNFStatus" }

// comesAndGoes reports whether the objects of a kind have generated names, so that others replace those that go.
func comesAndGoes(kind string) bool {
	return kind == object.KindPod || kind == object.KindEndpointSlice
}
