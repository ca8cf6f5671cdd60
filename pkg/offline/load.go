package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/answers/network"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/translator"
)

// Manifests selects what Load reads.
type Manifests struct {
	Paths     []string  // directories, files, patterns of their names, or "-" for Stdin
	Kustomize []string  // directories with a kustomization to build
	Stdin     io.Reader // with "-" only
	// Live means that everything in a cluster is listed, so that nothing has to stand for anything.
	Live bool
	// Strict makes documents problems that are no objects, such as values of a chart. Otherwise a hint counts them.
	Strict bool
	// Ignore are patterns of files that are not read: see manifest.Options. The name of a kind means that its objects need not be read
	// for an answer to be certain.
	Ignore []string
	// Shallow leaves out the directories below those of Paths.
	Shallow bool
	// Namespace is that of objects without one; "" is default.
	Namespace string
	// MaxFile is how long a file or the standard input may be, in bytes; 0 is manifest.DefaultMaxFile.
	MaxFile int64
	// Over are further directories and files, whose objects replace or extend those of Paths; if several have the same
	// object, the last counts.
	Over []string
	// Without are objects to leave out, wherever they are declared. One that is not declared is an error.
	Without []object.Ref
	// Peers are further clusters, with their policies. With Set, also those in a List that a daemon wrote count, without policies.
	Peers []Peer
	Set   bool
	// Backend is that whose limits are among the problems, for policies and Services: one of builtin.Explained. "" is builtin.OVN, or none
	// with Live, since the daemon of a cluster reports its own. The limits of the devices of CNFs always are.
	Backend string

	Translator translator.Options
	// Networks has the networks that plugins separate evaluated as well: see package network. A snapshot with them must not be written.
	Networks bool
}

// Load reads manifests once and translates them. It fails if they cannot be read at all; faults inside them are among the
// problems of the state.
func Load(opts Manifests) (world.State, error) {
	m, err := readManifests(opts)
	if err != nil {
		return world.State{}, err
	}
	others, err := m.others(&opts)
	if err != nil {
		return world.State{}, err
	}
	return m.state(opts, others...), nil
}

// state translates the objects, with those of other clusters as peers. These become states as well.
func (m *manifests) state(opts Manifests, others ...*member) world.State {
	members := append([]*member{{manifests: m, opts: opts, judged: true}}, others...)
	complete(members)
	states := make([]world.State, len(members))
	for i := range members {
		states[i] = members[i].translate(members)
	}
	own := joined(states)
	if slices.ContainsFunc(states, func(s world.State) bool { return s.WouldBe != nil }) {
		for i := range states {
			if states[i].WouldBe != nil {
				states[i] = states[i].WouldBe()
			}
		}
		would := joined(states)
		own.WouldBe = func() world.State { return would }
	}
	return own
}

// joined is the state of the first of some clusters, with the others.
func joined(states []world.State) world.State {
	own := states[0]
	own.Others = slices.Clone(states[1:])
	for i := range own.Others {
		if own.Others[i].Snapshot == nil {
			own.Others[i].View = own.View
		}
	}
	return own
}

// translate makes the state of a cluster: what its objects mean, with the pods of the other members as peers. It means nothing if
// its policies were not read. If some of these are staged, it has the state with them in force.
func (m *member) translate(members []*member) world.State {
	all := m.standIns.objects
	promotion := world.Promote(maps.Values(all))
	state := m.meant(members, all)
	if !m.judged || len(promotion.Staged) == 0 {
		return state
	}
	state.Staged = promotion.Staged
	state.Reading.Hints = append(state.Reading.Hints, "staged, so that they decide nothing: "+stagedText(promotion.Staged))
	promoted := maps.Clone(all)
	for _, ref := range promotion.Removed {
		delete(promoted, ref)
	}
	for _, o := range promotion.Put {
		ref, _ := world.PolicyRef(o)
		promoted[ref] = o
	}
	would := m.meant(members, promoted)
	state.WouldBe = func() world.State { return would }
	return state
}

// maxStaged is how many staged policies are named.
const maxStaged = 5

func stagedText(all []world.Staged) string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Policy.Path()
	}
	return object.Few(names, maxStaged)
}

// meant makes the state that some objects of a cluster mean.
func (m *member) meant(members []*member, all map[object.Ref]runtime.Object) world.State {
	opts := m.opts
	state := world.State{
		Cluster: opts.Translator.Cluster, Firewalls: opts.Translator.Firewalls, Reading: m.reading(&opts), Unread: m.unread, MadeUp: madeUpBy(members),
	}
	t := translator.New(opts.Translator)
	state.Unavailable = m.unavailable()
	t.SetUnknown(pipeline.UnknownAreas(state.Unavailable))
	m.standIns.describe(&state)
	for _, ref := range slices.SortedFunc(maps.Keys(all), object.Ref.Compare) {
		o := all[ref]
		addObject(&state.Objects, o)
		if !m.judged {
			continue
		}
		if err := t.Put(o); err != nil {
			state.Problems = append(state.Problems, object.Problem{Ref: ref, Message: err.Error(), Place: m.place(ref)})
		}
	}
	if m.judged {
		m.putPeers(t, members)
		m.meaning(t, members, &state)
	}
	for _, source := range m.sources {
		state.Problems = append(state.Problems, source.Problems()...)
	}
	findLines(state.Problems, m.content, opts.MaxFile)
	slices.SortFunc(state.Problems, object.Problem.Compare)
	if opts.Networks && m.judged {
		network.Evaluate(&state)
	}
	return state
}

// meaning adds what a translator made of the objects.
func (m *member) meaning(t *translator.Translator, members []*member, state *world.State) {
	state.Snapshot, state.View = t.Snapshot(), t.View()
	if hint := dependsOnMadeUp(state, m.standIns.made.All()); hint != "" {
		state.Reading.Hints = append(state.Reading.Hints, hint)
	}
	for _, p := range t.Problems() {
		if p.Cluster != state.Cluster && isJudged(members, p.Cluster) {
			continue // its cluster has the same
		}
		p.Place = m.place(p.Ref)
		state.Problems = append(state.Problems, p)
	}
	for _, p := range limits(state.Snapshot, m.explainer) {
		p.Place = m.place(p.Ref)
		state.Problems = append(state.Problems, p)
	}
}

// manifests are the objects of several directories and files.
type manifests struct {
	sources []*manifest.Directory
	force   map[object.Ref]*manifest.Directory // by object: the directory it is in force from
	empty   []string                           // layers that declare nothing
	without []object.Ref                       // workloads that are left out
	content map[string][]byte                  // of the files that were read whole, by path
	// explainer is of the backend whose limits are among the problems.
	explainer backends.Explainer
}

func readManifests(opts Manifests) (*manifests, error) {
	explainer, err := explainerFor(&opts)
	if err != nil {
		return nil, err
	}
	m := &manifests{force: map[object.Ref]*manifest.Directory{}, content: map[string][]byte{}, explainer: explainer}
	layers := []Manifests{opts}
	for _, path := range opts.Over {
		layer := opts
		layer.Paths, layer.Kustomize = []string{path}, nil
		layers = append(layers, layer)
	}
	for i := range layers {
		in, err := layers[i].input()
		if err != nil {
			return nil, err
		}
		maps.Copy(m.content, in.content)
		layer := in.load(&opts, source.Options{})
		m.sources = append(m.sources, layer)
		if layer.Empty() {
			m.empty = append(m.empty, layers[i].title())
		}
		for _, ref := range layer.Refs() {
			// A namespace that only exists because objects are in it does not replace one that is declared.
			if _, declared := layer.Place(ref); declared || m.force[ref] == nil {
				m.force[ref] = layer
			}
		}
	}
	for _, ref := range opts.Without {
		if !m.remove(ref) {
			return nil, fmt.Errorf("%s cannot be removed: no manifest declares it", ref)
		}
	}
	return m, nil
}

// remove leaves out an object; a workload with its pods. It reports whether there was one.
func (m *manifests) remove(ref object.Ref) bool {
	if m.force[ref] != nil {
		delete(m.force, ref)
		return true
	}
	found := false
	for _, source := range m.sources {
		for _, w := range source.Workloads() {
			if w.Ref != ref {
				continue
			}
			found = true
			for other, o := range m.objects() {
				if p, ok := o.(*corev1.Pod); ok && p.Namespace == ref.Namespace && !w.Selector.Empty() && w.Selector.Matches(labels.Set(p.Labels)) {
					delete(m.force, other)
				}
			}
		}
	}
	if found {
		m.without = append(m.without, ref)
	}
	return found
}

// reading reports what was read.
func (m *manifests) reading(opts *Manifests) *world.Reading {
	r := &world.Reading{Objects: map[string]int{}, Ignored: map[string]int{}, Live: opts.Live, Empty: m.empty}
	skipped, unknown := map[string]int{}, map[string]int{}
	var others []string
	for _, source := range m.sources {
		others = append(others, source.Others()...)
		r.Files += source.Files()
		for kind, n := range source.Ignored() {
			r.Ignored[kind] += n
		}
		for pattern, n := range source.Skipped() {
			skipped[pattern] += n
		}
		for field, n := range source.Unknown() {
			unknown[field] += n
		}
	}
	for _, pattern := range opts.Ignore {
		switch n := skipped[pattern]; {
		case n > 0:
			r.Hints = append(r.Hints, fmt.Sprintf("not read because of --ignore %s: %d", pattern, n))
		case strings.ContainsAny(pattern, "*?[/."): // the name of a kind has none of these
			r.Hints = append(r.Hints, fmt.Sprintf("--ignore %s matches no file or directory; a pattern is a name, or a path below -f", pattern))
		}
	}
	if n := r.Ignored["Kustomization"]; n > 0 {
		delete(r.Ignored, "Kustomization")
		r.Hints = append(r.Hints, fmt.Sprintf("not built: %d Kustomization; to build one, use -k DIR in place of -f DIR", n))
	}
	if len(others) > 0 {
		slices.Sort(others)
		r.Hints = append(r.Hints, "no objects, and left out: "+object.Few(others, maxFields))
	}
	if len(unknown) > 0 {
		r.Hints = append(r.Hints, "fields that netloom does not know, and no connection depends on: "+fieldsText(unknown))
	}
	for ref := range m.force {
		if m.place(ref) != (object.Place{}) {
			r.Objects[ref.Kind]++
		}
	}
	m.addForeign(r, opts)
	return r
}

// maxFields is how many unknown fields are named.
const maxFields = 5

// fieldsText lists fields with the number of objects that have them.
func fieldsText(of map[string]int) string {
	names := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(names, func(a, b string) int { return of[b] - of[a] })
	words := make([]string, 0, maxFields+1)
	for i, name := range names {
		if i == maxFields {
			words = append(words, fmt.Sprintf("and %d more", len(names)-maxFields))
			break
		}
		words = append(words, fmt.Sprintf("%s (%d)", name, of[name]))
	}
	return strings.Join(words, ", ")
}

// addForeign adds the objects that decide on connections and that netloom does not evaluate.
func (m *manifests) addForeign(r *world.Reading, opts *Manifests) {
	for _, source := range m.sources {
		for _, o := range source.Foreign() {
			if !world.MayDecide(o.Group, o.Kind) {
				continue
			}
			var h metav1.PartialObjectMetadata
			err := json.Unmarshal(o.Content, &h)
			namespace := cmp.Or(h.Namespace, opts.Namespace, metav1.NamespaceDefault)
			if err != nil {
				namespace = "" // it may concern any
			}
			if !slices.Contains(opts.Ignore, o.Kind) {
				r.AddForeign(o.Group, o.Kind, namespace, o.Content)
			}
		}
	}
	for _, content := range m.content {
		kinds, looked := manifest.UnlistedOf(content)
		if opts.Live && !looked {
			kinds = []source.Unlisted{{}}
		}
		for _, u := range kinds {
			if !slices.Contains(opts.Ignore, u.Kind) {
				r.AddUnlisted(u.String())
			}
		}
	}
}

// unavailable lists the kinds that the files declare as unreadable.
func (m *manifests) unavailable() []string {
	var kinds []string
	for _, content := range m.content {
		kinds = append(kinds, manifest.UnavailableOf(content)...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// addObject adds an object of a kind that queries may name.
func addObject(to *world.Objects, found runtime.Object) {
	r, _, ok := v1alpha1.ResourceOf(found)
	o, _ := found.(status.Object)
	if !ok || o == nil {
		to.Add(found)
		return
	}
	state, message := status.StateOf(o)
	to.Add(world.SDWANObject{
		Kind: r.Kind, Plural: r.Plural, Namespace: o.GetNamespace(), Name: o.GetName(), State: state, Message: message,
	})
}

// place returns where the object in force under ref is declared; zero if no manifest declares it.
func (m *manifests) place(ref object.Ref) object.Place {
	if source := m.force[ref]; source != nil {
		if place, ok := source.Place(ref); ok {
			return place
		}
	}
	return object.Place{}
}

// findLines finds the lines of problems in their files, as far as these can still be read.
func findLines(problems []object.Problem, content map[string][]byte, limit int64) {
	files := map[string]*manifest.Lines{}
	for i := range problems {
		place := &problems[i].Place
		if place.Document == 0 {
			continue
		}
		lines, ok := files[place.Path]
		if !ok {
			text, ok := content[place.Path]
			if !ok {
				text, _ = manifest.ReadFile(place.Path, limit) // deleted in the meantime: then it has no lines
				content[place.Path] = text
			}
			lines = manifest.NewLines(text)
			files[place.Path] = lines
		}
		place.Line = lines.OfProblem(&problems[i])
	}
}
