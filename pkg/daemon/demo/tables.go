package demo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// shownMembers is how many values of a long list are shown in a table.
const shownMembers = 4

// printDatabase reads the native rows, prints them and returns them.
func (s *show) printDatabase(ctx context.Context) (nbtrace.Rows, error) {
	rows, err := nbtrace.Load(ctx, s.client)
	if err != nil {
		return rows, err
	}
	titles, err := s.titles(ctx)
	if err != nil {
		return rows, err
	}
	s.printRows(rows, titles)
	return rows, nil
}

// printRows prints the native rows for display: their content and where they come from.
func (s *show) printRows(rows nbtrace.Rows, titles map[string]string) {
	s.table("Port groups", "NAME\tHOLDS\tLOGICAL PORTS\tACLS", len(rows.PortGroups), func(row func(...any)) {
		slices.SortFunc(rows.PortGroups, func(a, b nbtrace.PortGroup) int {
			return cmp.Or(cmp.Compare(titles[a.Name], titles[b.Name]), cmp.Compare(a.Name, b.Name))
		})
		for _, g := range rows.PortGroups {
			row(short(g.Name), titles[g.Name], list(g.Ports), len(g.ACLs))
		}
	})
	s.table("Address sets", "NAME\tHOLDS\tADDRESSES", len(rows.AddressSets), func(row func(...any)) {
		slices.SortFunc(rows.AddressSets, func(a, b nbtrace.AddressSet) int {
			return cmp.Or(cmp.Compare(titles[a.Name], titles[b.Name]), cmp.Compare(a.Name, b.Name))
		})
		for _, a := range rows.AddressSets {
			row(short(a.Name), titles[a.Name], list(a.Addresses))
		}
	})
	s.table("ACLs", "FROM\tDIRECTION\tPRIO\tACTION\tMATCH", len(rows.ACLs), func(row func(...any)) {
		slices.SortFunc(rows.ACLs, func(a, b nbtrace.ACL) int {
			return cmp.Or(cmp.Compare(origin(a), origin(b)), cmp.Compare(a.Match, b.Match))
		})
		for _, a := range rows.ACLs {
			row(origin(a), a.Direction, a.Priority, a.Action, shortNames(a.Match))
		}
	})
	s.table("Load balancers", "NAME\tVIP\tBACKENDS", len(rows.LoadBalancers), func(row func(...any)) {
		slices.SortFunc(rows.LoadBalancers, func(a, b nbtrace.LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
		for _, lb := range rows.LoadBalancers {
			for _, vip := range slices.Sorted(maps.Keys(lb.VIPs)) {
				row(lb.Name, vip, list(strings.FieldsFunc(lb.VIPs[vip], func(r rune) bool { return r == ',' })))
			}
		}
	})
}

// titles reads the human-readable name of each group and set.
func (s *show) titles(ctx context.Context) (map[string]string, error) {
	titles := map[string]string{}
	for _, table := range []string{"Port_Group", "Address_Set"} {
		rows, err := s.client.Select(ctx, table, nil, "name", "external_ids")
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			titles[ovsdb.String(r["name"])] = ovsdb.StringMap(r["external_ids"])[ovn.KeyTitle]
		}
	}
	return titles, nil
}

// origin returns the policy and rule that an ACL came from, or what it is for if it names none.
func origin(a nbtrace.ACL) string {
	ids := a.ExternalIDs
	if ids[ovn.KeyKind] == "" {
		return "(" + cmp.Or(ids[ovn.KeyTitle], "every policy") + ")"
	}
	name := ids[ovn.KeyName]
	if ns := ids[ovn.KeyNamespace]; ns != "" {
		name = ns + "/" + name
	}
	return ids[ovn.KeyKind] + " " + name + " " + strings.TrimPrefix(ids[ovn.KeyRule], "spec.")
}

func (s *show) table(title, header string, n int, fill func(row func(...any))) {
	s.printf("%s\n", s.bold(fmt.Sprintf("%s (%d)", title, n)))
	t := tabwriter.NewWriter(s.w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "  "+header)
	fill(func(cells ...any) {
		texts := make([]string, len(cells))
		for i, c := range cells {
			texts[i] = fmt.Sprint(c)
		}
		_, _ = fmt.Fprintln(t, "  "+strings.Join(texts, "\t"))
	})
	_ = t.Flush()
	s.printf("\n")
}

func list(values []string) string {
	values = slices.Sorted(slices.Values(values))
	if len(values) == 0 {
		return "-"
	}
	if len(values) > shownMembers {
		return strings.Join(values[:shownMembers], " ") + fmt.Sprintf(" … (%d)", len(values))
	}
	return strings.Join(values, " ")
}

// hashDigits is how many digits of a name's hash are enough to tell rows apart by eye.
const hashDigits = 6

// short shortens the hash in one of our names.
func short(name string) string {
	kind, rest, ok := strings.Cut(name, "_")
	hash, family, _ := strings.Cut(rest, "_")
	if !ok || !strings.HasPrefix(kind, "nl") || len(hash) <= hashDigits {
		return name
	}
	out := kind + "_" + hash[:hashDigits]
	if family != "" {
		out += "_" + family
	}
	return out
}

func shortNames(match string) string {
	words := strings.Split(match, " ")
	for i, w := range words {
		if rest, ok := strings.CutPrefix(w, "@"); ok {
			words[i] = "@" + short(rest)
		}
		if rest, ok := strings.CutPrefix(w, "$"); ok {
			words[i] = "$" + short(rest)
		}
	}
	return strings.Join(words, " ")
}
