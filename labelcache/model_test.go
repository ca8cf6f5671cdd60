package labelcache_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

type space struct{ cluster, name string }

// wanted is a term and the selection it was made from: the model evaluates the selection.
type wanted struct {
	sel  labelcache.Selection
	term labelcache.Term
}

// model records the input of a cache, and answers from scratch.
type model struct {
	pods   map[object.Key]labelcache.Endpoint
	spaces map[space]map[string]string
	sets   map[labelcache.SetID][]wanted // one for each AddTerm
}

func newModel() *model {
	return &model{
		pods:   map[object.Key]labelcache.Endpoint{},
		spaces: map[space]map[string]string{},
		sets:   map[labelcache.SetID][]wanted{},
	}
}

func (m *model) clone() *model {
	c := &model{maps.Clone(m.pods), maps.Clone(m.spaces), map[labelcache.SetID][]wanted{}}
	for id, ws := range m.sets {
		c.sets[id] = slices.Clone(ws)
	}
	return c
}

func (m *model) matches(s labelcache.Selection, e *labelcache.Endpoint) bool {
	if s.Cluster != labelcache.AnyCluster && s.Cluster != e.Key.Cluster || s.Namespace != "" && s.Namespace != e.Key.Namespace {
		return false
	}
	if s.Namespaces != nil {
		set, known := m.spaces[space{e.Key.Cluster, e.Key.Namespace}]
		if !known || !s.Namespaces.Matches(labels.Set(set)) {
			return false
		}
	}
	if s.Pods != nil && !s.Pods.Matches(labels.Set(e.Labels)) || s.Node != "" && s.Node != e.Node {
		return false
	}
	if s.Port.Name == "" {
		return true
	}
	n, ok := resolve(e, s.Port)
	return ok && (s.Port.Number == 0 || n == s.Port.Number)
}

func resolve(e *labelcache.Endpoint, p labelcache.PortMatch) (uint16, bool) {
	for _, d := range e.Ports {
		if d.Name == p.Name && d.Protocol == p.Protocol {
			return d.Number, true
		}
	}
	return 0, false
}

// members returns the members of a set, and its open numbers.
func (m *model) members(id labelcache.SetID) (map[object.Key]labelcache.Endpoint, []uint16) {
	out := map[object.Key]labelcache.Endpoint{}
	nums := map[uint16]bool{}
	for k, e := range m.pods {
		for _, w := range m.sets[id] {
			if !m.matches(w.sel, &e) {
				continue
			}
			out[k] = e
			if w.sel.Port.Name != "" && w.sel.Port.Number == 0 {
				n, _ := resolve(&e, w.sel.Port)
				nums[n] = true
			}
		}
	}
	return out, slices.Sorted(maps.Keys(nums))
}

func addrsOf(es map[object.Key]labelcache.Endpoint) map[netip.Addr]bool {
	out := map[netip.Addr]bool{}
	for _, e := range es {
		for _, a := range e.Addrs {
			out[a] = true
		}
	}
	return out
}

func (m *model) tags() map[labelcache.Tag][]object.Key {
	out := map[labelcache.Tag][]object.Key{}
	for k, e := range m.pods {
		for l, v := range e.Labels {
			t := labelcache.Tag{Kind: labelcache.PodLabel, Key: l, Value: v}
			out[t] = append(out[t], k)
		}
	}
	for s, set := range m.spaces {
		for l, v := range set {
			t := labelcache.Tag{Kind: labelcache.NamespaceLabel, Key: l, Value: v}
			out[t] = append(out[t], object.Key{Cluster: s.cluster, Namespace: s.name})
		}
	}
	for _, ks := range out {
		slices.SortFunc(ks, object.Key.Compare)
	}
	return out
}

// requireView compares all content of a view with the model.
func (m *model) requireView(t testing.TB, v labelcache.View) {
	t.Helper()
	require.Len(t, maps.Collect(v.Sets()), len(m.sets))
	all := addrsOf(m.pods)
	for id := range m.sets {
		want, nums := m.members(id)
		got, ok := v.Set(id)
		require.True(t, ok, "set %s", id)
		require.Equal(t, len(want), got.Len(), "set %s", id)
		seen := map[object.Key]bool{}
		for e := range got.All() {
			require.Equal(t, want[e.Key], *e, "member of %s", id)
			seen[e.Key] = true
		}
		require.Len(t, seen, len(want))
		for k := range m.pods {
			_, in := want[k]
			require.Equal(t, in, got.HasKey(k), "%s in %s", k, id)
		}
		addrs := addrsOf(want)
		for a := range all {
			require.Equal(t, addrs[a], got.HasAddr(a), "%s in %s", a, id)
		}
		require.Equal(t, nums, v.Numbers(id), "numbers of %s", id)
	}
	m.requireObjects(t, v)
}

func (m *model) requireObjects(t testing.TB, v labelcache.View) {
	t.Helper()
	n := 0
	for e := range v.Endpoints() {
		require.Equal(t, m.pods[e.Key], *e)
		n++
	}
	require.Equal(t, len(m.pods), n)
	for k, e := range m.pods {
		got, ok := v.Endpoint(k)
		require.True(t, ok)
		require.Equal(t, e, *got)
	}
	var v4, v6 bool
	for a := range addrsOf(m.pods) {
		v4, v6 = v4 || a.Is4(), v6 || a.Is6()
	}
	got4, got6 := v.Families()
	require.Equal(t, []bool{v4, v6}, []bool{got4, got6}, "families")
	want := m.tags()
	require.ElementsMatch(t, slices.Collect(maps.Keys(want)), slices.Collect(v.Tags()))
	for tag, keys := range want {
		require.Equal(t, keys, slices.SortedFunc(v.Tagged(tag), object.Key.Compare), "objects of %s", tag)
	}
}

// requireChanges checks that the changes are exactly the difference between two models.
func requireChanges(t testing.TB, before, after *model, got []labelcache.Change) {
	t.Helper()
	require.True(t, slices.IsSortedFunc(got, func(a, b labelcache.Change) int { return cmp.Compare(a.ID, b.ID) }))
	changes := map[labelcache.SetID]labelcache.Change{}
	for _, ch := range got {
		changes[ch.ID] = ch
	}
	require.Len(t, changes, len(got), "one change for a set")
	ids := maps.Clone(before.sets)
	maps.Copy(ids, after.sets)
	for id := range ids {
		_, was := before.sets[id]
		_, is := after.sets[id]
		want := difference(before, after, id)
		if want == nil {
			require.NotContains(t, changes, id)
			continue
		}
		ch := changes[id]
		require.Equal(t, is && !was, ch.Created, "created %s", id)
		require.Equal(t, was && !is, ch.Dropped, "dropped %s", id)
		require.ElementsMatch(t, want.ids, names(ch.Joined, ch.Left), "change of %s", id)
		require.Equal(t, want.added, ch.AddrsAdded, "added to %s", id)
		require.Equal(t, want.removed, ch.AddrsRemoved, "removed from %s", id)
		require.Equal(t, want.numbers, ch.Numbers, "numbers of %s", id)
		delete(changes, id)
	}
	require.Empty(t, changes)
}

type delta struct {
	ids            []string
	added, removed []netip.Addr
	numbers        bool
}

// difference is the change of a set that is expected, nil for none.
func difference(before, after *model, id labelcache.SetID) *delta {
	if len(before.sets[id]) == 0 || len(after.sets[id]) == 0 {
		return &delta{}
	}
	was, oldNums := before.members(id)
	is, newNums := after.members(id)
	var joined, left []*labelcache.Endpoint
	for k, e := range is {
		old, stayed := was[k]
		if stayed && old.Node == e.Node && slices.Equal(old.Addrs, e.Addrs) {
			continue
		}
		joined = append(joined, &e)
		if stayed {
			left = append(left, &old)
		}
	}
	for k, e := range was {
		if _, stays := is[k]; !stays {
			left = append(left, &e)
		}
	}
	byKey := func(a, b *labelcache.Endpoint) int { return a.Key.Compare(b.Key) }
	slices.SortFunc(joined, byKey)
	slices.SortFunc(left, byKey)
	d := &delta{ids: names(joined, left), numbers: !slices.Equal(oldNums, newNums)}
	d.added = missing(addrsOf(is), addrsOf(was))
	d.removed = missing(addrsOf(was), addrsOf(is))
	if len(d.ids) == 0 && !d.numbers {
		return nil
	}
	return d
}

func missing(from, in map[netip.Addr]bool) []netip.Addr {
	var out []netip.Addr
	for a := range from {
		if !in[a] {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

func names(joined, left []*labelcache.Endpoint) []string {
	var out []string
	for _, e := range joined {
		out = append(out, fmt.Sprint("+", *e))
	}
	for _, e := range left {
		out = append(out, fmt.Sprint("-", *e))
	}
	return out
}

// withoutReturned leaves out endpoints that were removed and put again as they were.
func withoutReturned(joined, left []*labelcache.Endpoint) (j, l []*labelcache.Endpoint) {
	in := func(list []*labelcache.Endpoint) func(*labelcache.Endpoint) bool {
		return func(e *labelcache.Endpoint) bool {
			return slices.ContainsFunc(list, func(o *labelcache.Endpoint) bool {
				return e.Key == o.Key && e.Node == o.Node && slices.Equal(e.Addrs, o.Addrs)
			})
		}
	}
	return slices.DeleteFunc(slices.Clone(joined), in(left)), slices.DeleteFunc(slices.Clone(left), in(joined))
}

func TestRandomHistoryMatchesTheModel(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newRand(seed)
		for run := range 40 {
			w := world{rnd, 2 + run%8}
			tags := map[labelcache.Tag]bool{}
			c := labelcache.New(labelcache.OnTag(
				func(tag labelcache.Tag) { require.False(t, tags[tag], tag); tags[tag] = true },
				func(tag labelcache.Tag) { require.True(t, tags[tag], tag); delete(tags, tag) },
			))
			m := newModel()
			before := m.clone()
			old := c.View()
			first, firstView := before, old
			for i := range 60 {
				for range w.IntN(10) {
					w.step(c, m)
				}
				v, changes := c.Commit()
				m.requireView(t, v)
				require.Equal(t, v.Revision(), c.View().Revision())
				requireChanges(t, before, m, changes)
				before.requireView(t, old)
				require.ElementsMatch(t, slices.Collect(v.Tags()), slices.Collect(maps.Keys(tags)))
				before, old = m.clone(), v
				requireSince(t, first, before, firstView, v)
				if i%10 == 9 {
					first, firstView = before, v
				}
			}
		}
	})
}

// TestRandomHistoryOfManyPods is the same with sets that are too big for a single node.
func TestRandomHistoryOfManyPods(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		w := world{newRand(seed), 500}
		c, m := labelcache.New(), newModel()
		before := m.clone()
		first, firstView := before, c.View()
		for i, steps := range []int{4000, 1, 3, 1000, 1, 3000, 10} {
			for range steps {
				w.step(c, m)
			}
			v, changes := c.Commit()
			m.requireView(t, v)
			requireChanges(t, before, m, changes)
			before = m.clone()
			requireSince(t, first, before, firstView, v)
			if i%3 == 0 {
				first, firstView = before, v
			}
		}
	})
}

// requireSince compares what Members.Since reports between two views with the model's answer.
func requireSince(t testing.TB, before, after *model, was, is labelcache.View) {
	t.Helper()
	for id := range after.sets {
		old, existed := was.Set(id)
		now, exists := is.Set(id)
		if !existed || !exists {
			continue
		}
		joined, left := withoutReturned(now.Since(old))
		want := []string(nil)
		if d := difference(before, after, id); d != nil {
			want = d.ids
		}
		require.ElementsMatch(t, want, names(joined, left), "change of %s", id)
	}
}
