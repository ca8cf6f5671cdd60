package audit

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// WriteCSV writes a report as one table with a value in each line, which spreadsheets can filter and pivot. No cell is interpreted as a
// formula, whatever the names of objects.
func (r *Report) WriteCSV(w io.Writer) error {
	s := sheet{csv.NewWriter(w)}
	s.line("section", "namespace", "name", "to", "property", "value")
	s.counts("cluster", "", r.Summary.Counts)
	s.line("cluster", "", "", "", "namespaces", strconv.Itoa(r.Summary.Namespaces))
	s.line("cluster", "", "", "", "policies", strconv.Itoa(r.Summary.Policies))
	for i := range r.Namespaces {
		s.counts("namespace", r.Namespaces[i].Name, r.Namespaces[i].Counts)
	}
	for i := range r.Pods {
		p := &r.Pods[i]
		s.line("pod", p.Namespace, p.Name, "", "isolated for ingress", yes(p.Ingress))
		s.line("pod", p.Namespace, p.Name, "", "isolated for egress", yes(p.Egress))
		s.line("pod", p.Namespace, p.Name, "", "reached from outside", p.FromWorld.text())
		s.line("pod", p.Namespace, p.Name, "", "reaches outside", p.ToWorld.text())
	}
	for i := range r.Matrix {
		c := &r.Matrix[i]
		s.line("connections", c.From, "", c.To, "allowed pairs", strconv.Itoa(c.Allowed))
		s.line("connections", c.From, "", c.To, "pairs", strconv.Itoa(c.Pairs))
		s.line("connections", c.From, "", c.To, "traffic", c.traffic())
	}
	for i := range r.Policies {
		p := &r.Policies[i]
		s.line(p.Kind, p.Namespace, p.Name, "", "created", p.Created)
		s.line(p.Kind, p.Namespace, p.Name, "", "directions", p.directions())
		s.line(p.Kind, p.Namespace, p.Name, "", "pods", strconv.Itoa(p.Pods))
		s.line(p.Kind, p.Namespace, p.Name, "", "rules", strconv.Itoa(p.Rules))
		s.line(p.Kind, p.Namespace, p.Name, "", "pods that only it isolates", strconv.Itoa(p.Sole))
	}
	for _, what := range r.NotExamined {
		s.line("not examined", "", "", "", "", what)
	}
	s.Flush()
	return s.Error()
}

// WriteCSV writes changes as a table with one change in each line.
func (c *Changes) WriteCSV(w io.Writer) error {
	s := sheet{csv.NewWriter(w)}
	s.line("kind", "object", "property", "before", "after")
	for i := range c.Changes {
		x := &c.Changes[i]
		s.line(x.Kind, x.Object, x.What, x.Before, x.After)
	}
	for _, name := range c.Appeared {
		s.line("pod", name, "exists", "no", "yes")
	}
	for _, name := range c.Vanished {
		s.line("pod", name, "exists", "yes", "no")
	}
	s.Flush()
	return s.Error()
}

// sheet writes lines of cells. Errors show in Error.
type sheet struct{ *csv.Writer }

func (s sheet) line(cells ...string) {
	for i := range cells {
		cells[i] = harmless(cells[i])
	}
	_ = s.Write(cells) // Error returns it
}

func (s sheet) counts(section, namespace string, c Counts) {
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
		s.line(section, namespace, "", "", row.what, strconv.Itoa(row.n))
	}
}

// harmless is a text that no spreadsheet interprets as a formula: see OWASP, CSV Injection.
func harmless(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r\n") || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") ||
		strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}

// directions are those that the policy applies to, in words.
func (p *Policy) directions() string {
	switch {
	case p.Ingress && p.Egress:
		return "ingress, egress"
	case p.Ingress:
		return "ingress"
	default:
		return "egress"
	}
}
