package offline

import (
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/network"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
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
	// Others are further clusters, with their policies. With Set, also those in a List that a daemon wrote count, without policies.
	Others []Other
	Set    bool
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
		m.putOthers(t, members)
		m.meaning(t, members, &state)
	}
	for _, source := range m.sources {
		state.Problems = append(state.Problems, source.Problems()...)
	}
	findLines(state.Problems, m.content, opts.MaxFile)
	slices.SortFunc(state.Problems, object.Problem.Compare)
	if opts.fetched() {
		for i := range state.Problems {
			state.Problems[i].Place = placeInCluster(state.Problems[i].Ref, state.Problems[i].Place)
		}
	}
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
