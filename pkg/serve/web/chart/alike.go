package chart

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// merge makes one unit of those with the same key in a list by unit; "" keeps a unit as it is. The key "rest" marks what it makes.
func (b *builder) merge(keys []string) {
	own := make([]int, len(b.units)) // pairs within each unit before
	for i, u := range b.units {
		own[i] = pairsOf(u, u)
	}
	into := make([]int, len(b.units)) // by old index: the new one
	at := map[string]int{}
	var out []*unit
	for i, u := range b.units {
		key := u.parent + " " + keys[i]
		n, known := at[key]
		if keys[i] != "" && known {
			out[n].absorb(u)
			out[n].rest = out[n].rest || keys[i] == rest
			into[i] = n
			continue
		}
		into[i] = len(out)
		at[key], out = len(out), append(out, u)
	}
	b.units = out
	old := b.links
	b.links = make(map[[2]int]*link, len(old))
	for _, key := range slices.SortedFunc(maps.Keys(old), func(x, y [2]int) int { return slices.Compare(x[:], y[:]) }) {
		l, to := old[key], [2]int{into[key[0]], into[key[1]]}
		if key[0] == key[1] {
			l.each = cmp.Or(l.each, own[key[0]])
		}
		if known := b.links[to]; known != nil {
			known.merge(l)
			continue
		}
		b.links[to] = l
	}
}

// rest is the key of those that are beyond a limit.
const rest = "rest"

// crowded are the parents with more units than are each shown.
func (b *builder) crowded() map[string]bool {
	n, out := map[string]int{}, map[string]bool{}
	for _, u := range b.units {
		n[u.parent]++
		out[u.parent] = n[u.parent] > few
	}
	return out
}

// alikeByGroups has equal keys for units of the same groups: they have the same links.
func (b *builder) alikeByGroups() []string {
	crowded, keys := b.crowded(), make([]string, len(b.units))
	for i, u := range b.units {
		if crowded[u.parent] {
			keys[i] = fmt.Sprint(u.groups())
		}
	}
	return keys
}

// alike has equal keys for units with the same links to and from all others, and within themselves: those without links among them or,
// if near, those with the same links among them as within.
func (b *builder) alike(near bool) []string {
	crowded := b.crowded()
	features := make([][]string, len(b.units))
	for key, l := range b.links {
		from, to := key[0], key[1]
		what := l.what(pairsOf(b.units[from], b.units[to]))
		if from == to && !near {
			features[from] = append(features[from], "itself "+what)
			continue
		}
		features[from] = append(features[from], fmt.Sprint("to ", to, " ", what))
		features[to] = append(features[to], fmt.Sprint("from ", from, " ", what))
	}
	keys := make([]string, len(b.units))
	for i, u := range b.units {
		if !crowded[u.parent] || u.rest {
			continue
		}
		slices.Sort(features[i])
		keys[i] = "like " + strings.Join(features[i], "|")
	}
	return keys
}

// beyond has the key rest for the units with the fewest ends that are beyond the limit of their parent.
func (b *builder) beyond(limit func(parent string) int) []string {
	keys := make([]string, len(b.units))
	byParent := map[string][]int{}
	for i, u := range b.units {
		byParent[u.parent] = append(byParent[u.parent], i)
	}
	for parent, list := range byParent {
		most := limit(parent)
		if len(list) <= most {
			continue
		}
		slices.SortStableFunc(list, func(x, y int) int {
			a, c := b.units[x], b.units[y]
			return cmp.Or(cmp.Compare(a.restRank(), c.restRank()), cmp.Compare(c.ends, a.ends))
		})
		for _, i := range list[most-1:] {
			keys[i] = rest
		}
	}
	return keys
}
