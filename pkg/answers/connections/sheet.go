package connections

import (
	"fmt"
	"io"
	"strconv"

	"github.com/netloom/netloom/pkg/answers/sheet"
)

// WriteCSV writes a report as one table: the connections between groups, and then the members of the groups that are not named after
// their only one.
func (r *Report) WriteCSV(w io.Writer) error {
	s := sheet.New(w)
	s.Line("section", "from", "to", "ports", "family", "group", "member", "pods")
	for i := range r.Connections {
		c := &r.Connections[i]
		s.Line("connection", r.group(c.From).name(), r.group(c.To).name(), c.Ports, c.Family, "", "", "")
	}
	for i := range r.Groups {
		g := &r.Groups[i]
		for k := range g.Ends {
			pods := ""
			if n := g.Ends[k].Pods; n > 0 {
				pods = strconv.Itoa(n)
			}
			s.Line("member", "", "", "", "", g.name(), g.Ends[k].Name, pods)
		}
		for _, p := range g.Outside {
			s.Line("member", "", "", "", "", g.name(), p.String(), "")
		}
	}
	return s.Close()
}

// name is the only member of a group, its addresses if these are few, or its number.
func (g *Group) name() string {
	switch {
	case len(g.Ends) == 1:
		return g.Ends[0].Name
	case len(g.Ends) > 1:
		return fmt.Sprintf("group %d", g.ID)
	}
	if text, whole := prefixText(g.Outside); whole {
		return text
	}
	return fmt.Sprintf("outside %d", g.ID)
}
