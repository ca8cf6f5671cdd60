package connections

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
)

// shownNames is how many names stand in a line. More are a numbered group, which is listed once.
const shownNames = 8

// Line is what passes from some ends to others, for people to read.
type Line struct {
	From, To string // names, such as "shop/deploy/web, ns/tools", "all workloads" or "outside 192.0.2.0/24"
	Ports    string // with the family before it if that matters
}

// Named is a group that lines name by its number.
type Named struct{ Name, Members string }

// Lines makes text of a report: connections with the same ends or ports in one line, in the order of their sources. Groups of many ends
// have names, such as "group 1", and are listed once.
func (r *Report) Lines() ([]Line, []Named) {
	t := newTexts(r)
	rectangles := r.rectangles()
	lines := make([]Line, 0, len(rectangles))
	for _, x := range rectangles {
		ports := x.ports
		if x.family != "" {
			ports = x.family + ": " + ports
		}
		lines = append(lines, Line{From: t.of(x.from), To: t.of(x.to), Ports: ports})
	}
	return lines, t.named
}

// rectangle is the same connection from each of some groups to each of others.
type rectangle struct {
	from, to      []int
	ports, family string
}

// rectangles merges connections that differ in one end only. Groups outside are not merged with others.
func (r *Report) rectangles() []rectangle {
	outside := func(id int) string {
		if g := r.group(id); g != nil && len(g.Ends) == 0 {
			return "outside"
		}
		return ""
	}
	list := make([]rectangle, 0, len(r.Connections))
	for _, c := range r.Connections {
		list = append(list, rectangle{[]int{c.From}, []int{c.To}, c.Ports, c.Family})
	}
	list = mergeAlike(list, func(x *rectangle) string { return fmt.Sprint(x.to, outside(x.from[0])) },
		func(x, o *rectangle) { x.from = append(x.from, o.from...) })
	list = mergeAlike(list, func(x *rectangle) string { return fmt.Sprint(x.from, outside(x.to[0])) },
		func(x, o *rectangle) { x.to = append(x.to, o.to...) })
	slices.SortStableFunc(list, func(a, b rectangle) int {
		return cmp.Or(slices.Compare(a.from, b.from), slices.Compare(a.to, b.to), cmp.Compare(a.family, b.family))
	})
	return list
}

// mergeAlike merges each rectangle into the first one with the same key, ports and family.
func mergeAlike(list []rectangle, key func(*rectangle) string, add func(to, from *rectangle)) []rectangle {
	at := map[string]int{}
	var out []rectangle
	for i := range list {
		x := &list[i]
		k := strings.Join([]string{key(x), x.ports, x.family}, "|")
		if n, known := at[k]; known {
			add(&out[n], x)
			continue
		}
		at[k] = len(out)
		out = append(out, *x)
	}
	return out
}

// texts names sets of groups.
type texts struct {
	report   *Report
	total    int        // ends
	reported int        // those in groups: less than all if the filter leaves out some
	inside   int        // groups with ends
	parts    [][]string // of each group, by its ID less 1: one name of several ends, or a few
	known    map[string]string
	named    []Named
}

func newTexts(r *Report) *texts {
	t := &texts{report: r, known: map[string]string{}, parts: make([][]string, len(r.Groups))}
	for _, n := range r.spaces {
		t.total += n
	}
	for i := range r.Groups {
		if len(r.Groups[i].Ends) > 0 {
			t.inside++
			t.reported += len(r.Groups[i].Ends)
		}
	}
	return t
}

// of names a set of groups.
func (t *texts) of(ids []int) string {
	key := fmt.Sprint(ids)
	text, known := t.known[key]
	if !known {
		text = t.name(ids)
		t.known[key] = text
	}
	return text
}

func (t *texts) name(ids []int) string {
	first := t.report.group(ids[0])
	if len(first.Ends) == 0 {
		return t.outside(ids)
	}
	ends := 0
	for _, id := range ids {
		ends += len(t.report.group(id).Ends)
	}
	if ends == t.total && ends > 1 {
		return "all workloads"
	}
	parts := t.partsOf(ids)
	if others := t.othersThan(ids, ends); len(others) > 0 {
		if lacks := t.partsOf(others); len(lacks) < len(parts) && len(lacks) <= shownNames/2 {
			return "all workloads except " + strings.Join(lacks, ", ")
		}
	}
	if len(parts) <= shownNames {
		return strings.Join(parts, ", ")
	}
	return t.group(counted(ends, "workload"), parts)
}

// othersThan are the groups of workloads that are not in a set with some number of ends; none if the set is small, and its own names are
// shorter, or the filter leaves out some of the others.
func (t *texts) othersThan(ids []int, ends int) []int {
	if t.reported < t.total || len(ids) <= t.inside/2 || ends <= t.total/2 {
		return nil
	}
	in := make(map[int]bool, len(ids))
	for _, id := range ids {
		in[id] = true
	}
	var out []int
	for i := range t.report.Groups {
		if id := i + 1; len(t.report.Groups[i].Ends) > 0 && !in[id] {
			out = append(out, id)
		}
	}
	return out
}

// partsOf are names for the ends of a set of groups: of namespaces that are in it as a whole, of large groups, and of the other ends.
func (t *texts) partsOf(ids []int) []string {
	var parts []string
	var few []End
	for _, id := range ids {
		g := t.report.group(id)
		if len(g.Ends) <= shownNames {
			few = append(few, g.Ends...)
			continue
		}
		if t.parts[id-1] == nil {
			own := t.compressed(g.Ends)
			if len(own) > shownNames {
				own = []string{t.group(counted(len(g.Ends), "workload"), own)}
			}
			t.parts[id-1] = own
		}
		parts = append(parts, t.parts[id-1]...)
	}
	parts = append(parts, t.compressed(few)...)
	slices.Sort(parts)
	return parts
}

// compressed names ends, or their namespaces as far as these are complete, in order.
func (t *texts) compressed(ends []End) []string {
	in := map[string]int{}
	for i := range ends {
		in[ends[i].Namespace]++
	}
	whole := func(namespace string) bool { return in[namespace] == t.report.spaces[namespace] && in[namespace] > 1 }
	var out []string
	for i := range ends {
		if !whole(ends[i].Namespace) {
			out = append(out, ends[i].Name)
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(in)) {
		if whole(namespace) {
			out = append(out, "ns/"+namespace)
		}
	}
	return out
}

// outside names the addresses of groups.
func (t *texts) outside(ids []int) string {
	var all []netip.Prefix
	for _, id := range ids {
		all = append(all, t.report.group(id).Outside...)
	}
	all = intent.MergePrefixes(all)
	if text, whole := prefixText(all); whole {
		return "outside " + text
	}
	parts := make([]string, len(all))
	for i, p := range all {
		parts[i] = p.String()
	}
	return "outside, " + t.group(counted(len(parts), "block"), parts)
}

// prefixText formats prefixes, and reports whether it is all of them.
func prefixText(list []netip.Prefix) (string, bool) {
	text := intent.PrefixText(list)
	return text, !strings.Contains(text, "…")
}

// group names what has many parts.
func (t *texts) group(size string, parts []string) string {
	members := strings.Join(parts, ", ")
	name, known := t.known[members]
	if !known {
		name = fmt.Sprintf("group %d (%s)", len(t.named)+1, size)
		t.known[members] = name
		t.named = append(t.named, Named{name, members})
	}
	return name
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
