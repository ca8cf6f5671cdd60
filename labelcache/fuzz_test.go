package labelcache

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

func selectorFor(key string, values ...string) labels.Selector {
	r, err := labels.NewRequirement(key, selection.In, values)
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*r)
}

// FuzzCanonicalSelector checks, for any selector that can be written, that its canonical form selects the same, is
// reached from any order of requirements, and is its own canonical form.
func FuzzCanonicalSelector(f *testing.F) {
	for _, s := range []string{
		"", "a", "!a", "a=x", "a==x", "a!=x", "a in (x,y),a in (y,z)", "a notin (x,y),a", "a,!a", "a=x,!a", "a>1,a<9,a!=5",
		"a>1,a<2", "a in (1,5,x),a>2", "b notin (),a in (,x)", "x.y/a=1,c,!b", "a>9223372036854775807", "a!=x,a!=y,a!=x",
		"a<-9223372036854775808", "a>-1,a!=-1", "a notin (q,1),a>0",
	} {
		f.Add(s, "a=x,b=y")
		f.Add(s, "a=5")
	}
	f.Fuzz(func(t *testing.T, text, object string) {
		sel, err := labels.Parse(text)
		if err != nil {
			return
		}
		set, err := labels.ConvertSelectorToLabelsMap(object)
		if err != nil {
			return
		}
		term := NewTerm(Selection{Pods: sel})
		for _, s := range []labels.Set{set, nil, {"a": "1"}, {"a": "5"}, {"a": "x"}, {"a": "", "b": "x"}} {
			require.Equal(t, sel.Matches(s), term.Matches(&Endpoint{Labels: s}, false, nil), "%s on %v", text, s)
		}
		reqs, _ := sel.Requirements()
		reqs = slices.Clone(reqs)
		slices.Reverse(reqs)
		again := labels.NewSelector().Add(append(reqs, reqs...)...)
		require.Equal(t, term.ID(), NewTerm(Selection{Pods: again}).ID(), text)

		cs, ok := clausesOf(sel)
		if !ok {
			require.Equal(t, noMatch, term.ID())
			return
		}
		parsed, err := labels.Parse(spellPlain(cs))
		require.NoError(t, err)
		require.Equal(t, term.ID(), NewTerm(Selection{Pods: parsed}).ID(), text)
	})
}

// spellPlain writes clauses so that labels.Parse reads them.
func spellPlain(cs []clause) string {
	sel := labels.NewSelector()
	add := func(key string, op selection.Operator, vals ...string) {
		if r, err := labels.NewRequirement(key, op, vals); err == nil {
			sel = sel.Add(*r)
		}
	}
	for i := range cs {
		c := &cs[i]
		if c.in != nil {
			add(c.key, selection.In, c.in...)
		} else if c.present {
			add(c.key, selection.Exists)
		}
		if c.absent {
			add(c.key, selection.DoesNotExist)
		}
		if len(c.notIn) > 0 {
			add(c.key, selection.NotIn, c.notIn...)
		}
	}
	out := sel.String()
	for i := range cs {
		c := &cs[i]
		for _, s := range c.format(nil) {
			if c.above != nil || c.below != nil {
				out += "," + s
			}
		}
	}
	if out != "" && out[0] == ',' {
		out = out[1:]
	}
	return out
}

// FuzzTermIDIsUnambiguous checks that no two selections share a text by accident of spelling, whatever characters an
// unchecked selector has.
func FuzzTermIDIsUnambiguous(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a) pods(b", "x", "a", "b")
	f.Add("*", "", "", "*")
	f.Add("\xff", "\"", "\uFFFD", "\\")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		of := func(k, v string) []Selection {
			set := labels.SelectorFromSet(labels.Set{k: v})
			return []Selection{
				{Namespace: k, Node: v},
				{Namespace: v, Node: k},
				{Cluster: k, Namespace: v},
				{Namespace: k, Pods: set},
				{Namespaces: set},
				{Pods: set},
				{Port: PortMatch{Name: k}, Node: v},
				{Pods: set, Node: k},
			}
		}
		for i, s := range of(a, b) {
			for j, o := range of(c, d) {
				if slices.Contains([]string{a, b, c, d}, "") {
					continue // an empty word leaves a part open
				}
				same := i == j && a == c && b == d || i+j == 1 && a == d && b == c
				require.Equal(t, same, NewTerm(s).ID() == NewTerm(o).ID(), "%d %d", i, j)
			}
		}
	})
}
