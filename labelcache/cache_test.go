package labelcache_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/test/seeds"
)

func podKey(name string) object.Key { return object.Key{Namespace: "shop", Name: name} }

// pod makes an endpoint in namespace shop from labels in kubectl's spelling and addresses.
func pod(t *testing.T, name, text string, addrs ...string) labelcache.Endpoint {
	t.Helper()
	set, err := labels.ConvertSelectorToLabelsMap(text)
	require.NoError(t, err)
	e := labelcache.Endpoint{Key: podKey(name), Labels: set}
	for _, a := range addrs {
		e.Addrs = append(e.Addrs, netip.MustParseAddr(a))
	}
	return e
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	require.NoError(t, err)
	return s
}

func podTerm(t *testing.T, text string) labelcache.Term {
	t.Helper()
	return labelcache.NewTerm(labelcache.Selection{Namespace: "shop", Pods: selector(t, text)})
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range texts {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func memberNames(v labelcache.View, id labelcache.SetID) []string {
	m, _ := v.Set(id)
	var out []string
	for e := range m.All() {
		out = append(out, e.Key.Name)
	}
	slices.Sort(out)
	return out
}

func TestAnAddressOfTwoMembersSurvivesTheFirstRemoval(t *testing.T) {
	c := labelcache.New()
	c.AddTerm("web", podTerm(t, "app=web"))
	c.SetEndpoint(pod(t, "old", "app=web", "10.0.0.1"))
	c.Commit()

	c.SetEndpoint(pod(t, "new", "app=web", "10.0.0.1"))
	_, changes := c.Commit()
	require.Len(t, changes, 1)
	require.Len(t, changes[0].Joined, 1)
	require.Empty(t, changes[0].AddrsAdded, "the set already has it")

	c.DeleteEndpoint(podKey("old"))
	v, changes := c.Commit()
	require.Len(t, changes, 1)
	require.Len(t, changes[0].Left, 1)
	require.Empty(t, changes[0].AddrsRemoved, "the other still has it")
	m, _ := v.Set("web")
	require.True(t, m.HasAddr(addrs("10.0.0.1")[0]))

	c.DeleteEndpoint(podKey("new"))
	_, changes = c.Commit()
	require.Equal(t, addrs("10.0.0.1"), changes[0].AddrsRemoved)
}

func TestAnEndpointIsKeptOnce(t *testing.T) {
	c := labelcache.New()
	first := c.SetEndpoint(pod(t, "a", "app=web", "10.0.0.1"))
	require.Same(t, first, c.SetEndpoint(pod(t, "a", "app=web", "10.0.0.1")), "nothing changed")
	second := c.SetEndpoint(pod(t, "a", "app=web", "10.0.0.2"))
	require.NotSame(t, first, second)
	v, _ := c.Commit()
	published, ok := v.Endpoint(podKey("a"))
	require.True(t, ok)
	require.Same(t, second, published)
}

func TestAnAddressThatMovesBetweenMembersIsNoChangeOfAddresses(t *testing.T) {
	c := labelcache.New()
	c.AddTerm("web", podTerm(t, "app=web"))
	c.SetEndpoint(pod(t, "a", "app=web", "10.0.0.1", "fd00::1"))
	c.Commit()
	c.DeleteEndpoint(podKey("a"))
	c.SetEndpoint(pod(t, "b", "app=web", "10.0.0.1"))
	_, changes := c.Commit()
	require.Len(t, changes, 1)
	require.Equal(t, "b", changes[0].Joined[0].Key.Name)
	require.Equal(t, "a", changes[0].Left[0].Key.Name)
	require.Empty(t, changes[0].AddrsAdded)
	require.Equal(t, addrs("fd00::1"), changes[0].AddrsRemoved)
}

func TestWhatIsUndoneBeforeACommitIsNoChange(t *testing.T) {
	a, b := pod(t, "p", "app=web", "10.0.0.1"), pod(t, "p", "app=db", "10.0.0.2")
	c := labelcache.New()
	c.AddTerm("web", podTerm(t, "app=web"))
	c.AddTerm("port", labelcache.NewTerm(labelcache.Selection{Port: labelcache.PortMatch{Name: "x", Protocol: labelcache.TCP}}))
	c.SetEndpoint(a)
	c.Commit()
	for name, detour := range map[string]func(){
		"another endpoint and back": func() { c.SetEndpoint(b); c.SetEndpoint(a) },
		"deleted and made again":    func() { c.DeleteEndpoint(a.Key); c.SetEndpoint(a) },
		"term removed and added":    func() { c.RemoveTerm("web", podTerm(t, "app=web")); c.AddTerm("web", podTerm(t, "app in (web)")) },
		"joined and left":           func() { e := pod(t, "q", "app=web", "10.0.0.3"); c.SetEndpoint(e); c.DeleteEndpoint(e.Key) },
		"set created and dropped":   func() { c.AddTerm("x", podTerm(t, "app")); c.RemoveTerm("x", podTerm(t, "app")) },
		"namespace known and not":   func() { c.SetNamespace("", "shop", map[string]string{"a": "b"}); c.DeleteNamespace("", "shop") },
		"a number that comes and goes": func() {
			e := a
			e.Ports = []labelcache.NamedPort{{Name: "x", Protocol: labelcache.TCP, Number: 1}}
			c.SetEndpoint(e)
			c.SetEndpoint(a)
		},
		"another term for what is there": func() { c.AddTerm("web", podTerm(t, "app in (web,none)")) },
	} {
		detour()
		v, changes := c.Commit()
		require.Empty(t, changes, name)
		require.Equal(t, []string{"p"}, memberNames(v, "web"), name)
	}
}

func TestCommitWithoutChangesReturnsTheSameView(t *testing.T) {
	c := labelcache.New()
	e := pod(t, "p", "app=web", "10.0.0.1")
	c.SetEndpoint(e)
	v, _ := c.Commit()
	require.Equal(t, uint64(1), v.Revision())
	c.SetEndpoint(e)
	c.DeleteEndpoint(podKey("missing"))
	c.DeleteNamespace("", "nowhere")
	c.RemoveTerm("none", podTerm(t, "a"))
	v, changes := c.Commit()
	require.Equal(t, uint64(1), v.Revision())
	require.Empty(t, changes)
}

func TestPortsDecideMembershipAndNumbers(t *testing.T) {
	match := func(number uint16) labelcache.Term {
		return labelcache.NewTerm(labelcache.Selection{Port: labelcache.PortMatch{Name: "web", Protocol: labelcache.TCP, Number: number}})
	}
	c := labelcache.New()
	c.AddTerm("open", match(0))
	c.AddTerm("at80", match(80))
	e := pod(t, "p", "", "10.0.0.1")
	e.Ports = []labelcache.NamedPort{
		{Name: "web", Protocol: labelcache.UDP, Number: 53},
		{Name: "web", Protocol: labelcache.TCP, Number: 80},
		{Name: "web", Protocol: labelcache.TCP, Number: 81},
	}
	c.SetEndpoint(e)
	v, _ := c.Commit()
	require.Equal(t, []string{"p"}, memberNames(v, "open"))
	require.Equal(t, []string{"p"}, memberNames(v, "at80"))
	require.Equal(t, []uint16{80}, v.Numbers("open"), "the first of the protocol")
	require.Nil(t, v.Numbers("at80"))

	e.Ports = e.Ports[2:]
	c.SetEndpoint(e)
	v, changes := c.Commit()
	require.Len(t, changes, 2)
	require.Equal(t, labelcache.Change{ID: "open", Numbers: true}, changes[1])
	require.Equal(t, []uint16{81}, v.Numbers("open"))
	require.Empty(t, memberNames(v, "at80"))
}

func TestNamespaceSelectorsFailClosed(t *testing.T) {
	c := labelcache.New()
	for id, sel := range map[labelcache.SetID]labels.Selector{
		"nil": nil, "any": labels.Everything(), "none": labels.Nothing(), "not": selector(t, "team!=red"), "no key": selector(t, "!team"),
	} {
		c.AddTerm(id, labelcache.NewTerm(labelcache.Selection{Namespaces: sel}))
	}
	c.SetEndpoint(pod(t, "p", "team=red", "10.0.0.1"))
	in := func(v labelcache.View) []string {
		var out []string
		for id, m := range v.Sets() {
			if m.Len() > 0 {
				out = append(out, string(id))
			}
		}
		slices.Sort(out)
		return out
	}
	v, _ := c.Commit()
	require.Equal(t, []string{"nil"}, in(v), "the namespace is not known")
	c.SetNamespace("", "shop", nil)
	v, _ = c.Commit()
	require.Equal(t, []string{"any", "nil", "no key", "not"}, in(v), "a pod's label is not one of its namespace")
	c.SetNamespace("", "shop", map[string]string{"team": "red"})
	v, _ = c.Commit()
	require.Equal(t, []string{"any", "nil"}, in(v))
	c.DeleteNamespace("", "shop")
	v, _ = c.Commit()
	require.Equal(t, []string{"nil"}, in(v))
}

func TestZeroValuesAreEmpty(t *testing.T) {
	var v labelcache.View
	_, ok := v.Set("s")
	require.False(t, ok)
	_, ok = v.Endpoint(podKey("p"))
	require.False(t, ok)
	require.Empty(t, maps.Collect(v.Sets()))
	require.Empty(t, slices.Collect(v.Tags()))
	require.Empty(t, slices.Collect(v.Tagged(labelcache.Tag{})))
	require.Nil(t, v.Numbers("s"))
	var m labelcache.Members
	require.False(t, m.HasKey(podKey("p")))
	require.False(t, m.HasAddr(netip.Addr{}))
	require.Empty(t, slices.Collect(m.All()))

	c := labelcache.New()
	c.SetEndpoint(pod(t, "p", "a=x", "10.0.0.1"))
	c.AddTerm("s", labelcache.Term{})
	v, changes := c.Commit()
	require.Equal(t, []labelcache.Change{{ID: "s", Created: true}}, changes)
	require.Empty(t, memberNames(v, "s"), "a zero term selects nothing")
}

func TestTagEventsComeInOrderAndMayUseTheCache(t *testing.T) {
	var events []string
	var c *labelcache.Cache
	c = labelcache.New(labelcache.OnTag(
		func(tag labelcache.Tag) {
			events = append(events, "+"+tag.String())
			if tag.Value == "db" { // a callback may commit; what follows from it is reported after what stands before
				c.SetEndpoint(pod(t, "extra", "app=extra"))
				c.Commit()
			}
		},
		func(tag labelcache.Tag) { events = append(events, "-"+tag.String()) },
	))
	said := func() []string { out := events; events = nil; return out }

	c.SetNamespace("", "shop", map[string]string{"app": "web"})
	c.SetEndpoint(pod(t, "a", "app=web"))
	c.SetEndpoint(pod(t, "b", "app=web"))
	require.Empty(t, said(), "nothing is said before a commit")
	c.Commit()
	require.Equal(t, []string{"+pod:app=web", "+namespace:app=web"}, said())
	c.DeleteEndpoint(podKey("a"))
	c.Commit()
	require.Empty(t, said(), "b still has it")
	c.SetEndpoint(pod(t, "b", "app=db,tier=x"))
	c.SetNamespace("", "shop", nil)
	c.Commit()
	require.Equal(t, []string{"+pod:app=db", "-pod:app=web", "+pod:tier=x", "-namespace:app=web", "+pod:app=extra"}, said())
	c.SetEndpoint(pod(t, "b", "app=web,tier=x"))
	c.Commit()
	require.Equal(t, []string{"-pod:app=db", "+pod:app=web"}, said(), "dropped before, created now")
}

func TestOrderOfInputsDoesNotMatter(t *testing.T) {
	seeds.Each(t, "labelcache", func(t *testing.T, seed uint64) {
		rnd := newRand(seed)
		w := world{rnd, 6}
		var inputs []func(c *labelcache.Cache)
		seen := map[object.Key]bool{}
		for range 60 {
			e := w.endpoint()
			if !seen[e.Key] {
				seen[e.Key] = true
				inputs = append(inputs, func(c *labelcache.Cache) { c.SetEndpoint(e) })
			}
			id, term := labelcache.SetID(fmt.Sprint("s", w.IntN(20))), labelcache.NewTerm(w.selection())
			inputs = append(inputs, func(c *labelcache.Cache) { c.AddTerm(id, term) })
		}
		for _, name := range []string{"n1", "n2"} {
			set := w.labels()
			inputs = append(inputs, func(c *labelcache.Cache) { c.SetNamespace("", name, set) })
		}
		var want string
		for i := range 20 {
			rnd.Shuffle(len(inputs), func(i, j int) { inputs[i], inputs[j] = inputs[j], inputs[i] })
			c := labelcache.New()
			for n, in := range inputs {
				in(c)
				if i%2 == 1 && n%7 == 0 {
					c.Commit()
				}
			}
			v, _ := c.Commit()
			if got := dump(v); want == "" {
				want = got
			} else {
				require.Equal(t, want, got)
			}
		}
		require.NotEmpty(t, want)
	})
}

// dump formats the content of a view.
func dump(v labelcache.View) string {
	var lines []string
	for id, m := range v.Sets() {
		var keys []string
		for e := range m.All() {
			keys = append(keys, fmt.Sprint(*e))
		}
		slices.Sort(keys)
		lines = append(lines, fmt.Sprint(id, keys, v.Numbers(id)))
	}
	for tag := range v.Tags() {
		lines = append(lines, fmt.Sprint(tag, slices.SortedFunc(v.Tagged(tag), object.Key.Compare)))
	}
	slices.Sort(lines)
	return fmt.Sprint(lines)
}

func TestReadersSeeOneRevisionWhileTheCacheMovesOn(t *testing.T) {
	c := labelcache.New()
	c.AddTerm("x", podTerm(t, "side=x"))
	c.AddTerm("y", podTerm(t, "side=y"))
	const pods = 300
	set := func(round int) {
		for i := range pods {
			e := pod(t, fmt.Sprint(i), "side="+[]string{"x", "y"}[(i+round)%2], fmt.Sprintf("10.0.%d.%d", i/200, i%200))
			e.Node = fmt.Sprint(round)
			c.SetEndpoint(e)
		}
		c.Commit()
	}
	set(0)
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				v := c.View()
				nodes := map[string]bool{}
				n := 0
				for _, m := range v.Sets() {
					for e := range m.All() {
						nodes[e.Node] = true
						n++
						if !m.HasKey(e.Key) || !m.HasAddr(e.Addrs[0]) {
							t.Errorf("%s is not in its set", e.Key)
						}
					}
				}
				if n != pods || len(nodes) != 1 {
					t.Errorf("saw %d members of rounds %v", n, nodes)
				}
			}
		})
	}
	for round := range 50 {
		set(round + 1)
	}
	close(done)
	wg.Wait()
}
