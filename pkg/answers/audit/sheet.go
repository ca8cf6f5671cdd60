package audit

import (
	"io"
	"strconv"

	"github.com/netloom/netloom/pkg/answers/sheet"
)

// WriteCSV writes a report as one table with a value in each line, which spreadsheets can filter and pivot. No cell is interpreted as a
// formula, whatever the names of objects.
func (r *Report) WriteCSV(w io.Writer) error {
	s := sheet.New(w)
	s.Line("section", "namespace", "name", "to", "property", "value")
	counts(s, "cluster", "", r.Summary.Counts)
	s.Line("cluster", "", "", "", "namespaces", strconv.Itoa(r.Summary.Namespaces))
	s.Line("cluster", "", "", "", "policies", strconv.Itoa(r.Summary.Policies))
	for i := range r.Namespaces {
		counts(s, "namespace", r.Namespaces[i].Name, r.Namespaces[i].Counts)
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		s.Line("pod", p.Namespace, p.Name, "", "isolated for ingress", yes(p.Ingress))
		s.Line("pod", p.Namespace, p.Name, "", "isolated for egress", yes(p.Egress))
		s.Line("pod", p.Namespace, p.Name, "", "reached from outside", p.FromWorld.text())
		s.Line("pod", p.Namespace, p.Name, "", "reaches outside", p.ToWorld.text())
	}
	for i := range r.Matrix {
		c := &r.Matrix[i]
		s.Line("connections", c.From, "", c.To, "allowed pairs", strconv.Itoa(c.Allowed))
		s.Line("connections", c.From, "", c.To, "pairs", strconv.Itoa(c.Pairs))
		s.Line("connections", c.From, "", c.To, "traffic", c.traffic())
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		s.Line(p.Kind, p.Namespace, p.Name, "", "created", p.Created)
		s.Line(p.Kind, p.Namespace, p.Name, "", "directions", p.directions())
		s.Line(p.Kind, p.Namespace, p.Name, "", "pods", strconv.Itoa(p.Pods))
		s.Line(p.Kind, p.Namespace, p.Name, "", "rules", strconv.Itoa(p.Rules))
		s.Line(p.Kind, p.Namespace, p.Name, "", "pods that only it isolates", strconv.Itoa(p.Sole))
	}
	for _, what := range r.NotExamined {
		s.Line("not examined", "", "", "", "", what)
	}
	return s.Close()
}

// WriteCSV writes changes as a table with one change in each line.
func (c *Changes) WriteCSV(w io.Writer) error {
	s := sheet.New(w)
	s.Line("kind", "object", "property", "before", "after")
	for i := range c.Changes {
		x := &c.Changes[i]
		s.Line(x.Kind, x.Object, x.What, x.Before, x.After)
	}
	for _, name := range c.Appeared {
		s.Line("pod", name, "exists", "no", "yes")
	}
	for _, name := range c.Vanished {
		s.Line("pod", name, "exists", "yes", "no")
	}
	return s.Close()
}

// counts writes the numbers of pods of a namespace or the cluster.
func counts(s sheet.Writer, section, namespace string, c Counts) {
	for _, row := range []struct {
		what string
		n    int
	}{
		{"pods", c.Pods},
		{"pods isolated for ingress", c.IsolatedIngress},
		{"pods isolated for egress", c.IsolatedEgress},
		{"pods open to the world", c.FromWorld},
		{"pods that reach the world", c.ToWorld},
	} {
		s.Line(section, namespace, "", "", row.what, strconv.Itoa(row.n))
	}
}

// directions are those that the policy applies to, in words.
func (p *Policy) directions() string {
	switch {
	case p.Staged:
		return "none: staged"
	case p.Ingress && p.Egress:
		return "ingress, egress"
	case p.Ingress:
		return "ingress"
	default:
		return "egress"
	}
}
