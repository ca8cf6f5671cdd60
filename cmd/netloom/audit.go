package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/audit"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/offline"
)

// The kinds of what audit prints. A snapshot is an answer of the first.
const (
	kindAudit        = "Audit"
	kindAuditChanges = "AuditChanges"
)

func newAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit [-f] DIR|FILE|-",
		Short: "Report which pods are isolated, and who can reach them",
		Long: `Report how well a cluster is isolated: the isolated pods of every namespace, the pods that most addresses outside can reach or that
can reach them, the connections between namespaces, and the policies with their age and effect, the oldest first.

With -n, the report is about one namespace, and the connections from and to it; with -l, about the pods with some labels, without
policies and connections between namespaces.

-o json is also a snapshot: keep it in a file, and --since FILE prints what changed since then. -o html is a single self-contained
page, -o csv a table with one value per line.

Exit with 0 after a report; with --since, exit with 2 if something changed. Exit with 3 if there are no pods or not everything could be
examined, and with 1 on an error.`,
		Example: `  netloom audit examples
  netloom audit -f examples -o json > audit.json
  netloom audit -f examples --since audit.json
  netloom audit -f examples -o html > audit.html`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.networks, manifests.connections = true, true
	selector := bindSelector(cmd)
	output := bindTables(cmd, formTable, formJSON, formYAML, formCSV, formHTML)
	var since string
	cmd.Flags().StringVar(&since, "since", "", "file with a snapshot, which -o json prints: report what changed since then")
	_ = cmd.MarkFlagFilename("since", "json")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(output.check(), selector.check()); err != nil {
			return err
		}
		manifests.paths = append(manifests.paths, args...)
		return runAudit(cmd, manifests, selector, output, since)
	}
	return cmd
}

func runAudit(cmd *cobra.Command, manifests *manifestsFlag, selector *selectorFlag, output *outputFlag, since string) error {
	var old *audit.Report
	if since != "" {
		var err error
		if old, err = readAudit(since); err != nil {
			return err
		}
	}
	source, err := manifests.source(cmd)
	if err != nil {
		return err
	}
	done := progress(cmd, "auditing")
	state, created, err := offline.LoadCreated(source)
	done()
	if err != nil {
		return err
	}
	if err := manifests.known(cmd, &state); err != nil {
		return err
	}
	printReading(cmd, &state)
	report := audit.Of(audit.State{Snapshot: state.Snapshot, View: state.View, Created: creationTimes(created), Staged: stagedRefs(&state)})
	if cmd.Flags().Changed("namespace") {
		report.Within(manifests.namespace)
	}
	if selector.set() {
		chosen := selector.subjects(state.View)
		report.Select(func(pod object.Key) bool { return chosen[pod] })
	}
	verdict := auditVerdict(&report)
	out := cmd.OutOrStdout()
	if old == nil {
		return worst(printAudit(out, output, &report), certain(&state), verdict)
	}
	changes := audit.Since(old, &report)
	if !changes.Empty() {
		verdict = worst(verdict, differs())
	}
	return worst(printChanges(out, output, &report, &changes), certain(&state), verdict)
}

// auditVerdict is the error for a report that does not cover everything.
func auditVerdict(r *audit.Report) error {
	switch {
	case r.Summary.Pods == 0:
		return cannotTell("no pods to audit")
	case len(r.NotExamined) > 0:
		return cannotTell("not everything was examined")
	}
	return nil
}

// stagedRefs names the staged policies of a state.
func stagedRefs(state *world.State) []object.Ref {
	var out []object.Ref
	for _, s := range state.Staged {
		out = append(out, s.Policy)
	}
	return out
}

// creationTimes formats when objects were created.
func creationTimes(created map[object.Ref]metav1.Time) map[object.Ref]string {
	out := map[object.Ref]string{}
	for ref, t := range created {
		out[ref] = t.UTC().Format(time.RFC3339)
	}
	return out
}

// readAudit reads a snapshot.
func readAudit(path string) (*audit.Report, error) {
	text, err := manifest.ReadFile(path, 0)
	if err != nil {
		return nil, fmt.Errorf("--since: %w", err)
	}
	var is struct {
		metav1.TypeMeta `json:",inline"`

		audit.Report
	}
	d := json.NewDecoder(bytes.NewReader(text))
	err = d.Decode(&is)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("unexpected data after the first value")
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("--since: %s is not a snapshot, as audit -o json prints it: %w", path, err)
	case is.Kind != kindAudit || is.APIVersion != answerVersion:
		return nil, fmt.Errorf("--since: %s: expected apiVersion %s and kind %s, found %q and %q", path, answerVersion, kindAudit, is.APIVersion, is.Kind)
	}
	return &is.Report, nil
}

func printAudit(out io.Writer, output *outputFlag, r *audit.Report) error {
	switch output.form {
	case formTable:
		_, err := io.WriteString(out, auditText(r, output.bare, paletteFor(out)))
		return err
	case formCSV:
		return r.WriteCSV(out)
	case formHTML:
		return r.WriteHTML(out, nil)
	default:
		return printData(out, output.form, kindAudit, r)
	}
}

func printChanges(out io.Writer, output *outputFlag, r *audit.Report, c *audit.Changes) error {
	switch output.form {
	case formTable:
		_, err := io.WriteString(out, changesText(c, output.bare, paletteFor(out)))
		return err
	case formCSV:
		return c.WriteCSV(out)
	case formHTML:
		return r.WriteHTML(out, c)
	default:
		return printData(out, output.form, kindAuditChanges, c)
	}
}

// auditText formats a report, with the pods that are not isolated or exposed only.
func auditText(r *audit.Report, bare bool, i palette) string {
	namespaces := table{head: []string{"NAMESPACE", strings.ToUpper(r.Noun(0)), "ISOLATED INGRESS", "ISOLATED EGRESS", "OPEN TO WORLD", "REACH WORLD"}}
	row := func(name string, c *audit.Counts) {
		namespaces.add(name, strconv.Itoa(c.Pods), strconv.Itoa(c.IsolatedIngress), strconv.Itoa(c.IsolatedEgress),
			strconv.Itoa(c.FromWorld), strconv.Itoa(c.ToWorld))
	}
	for n := range r.Namespaces {
		row(r.Namespaces[n].Name, &r.Namespaces[n].Counts)
	}
	row("all", &r.Summary.Counts)
	exposed := table{head: []string{"OPEN " + strings.ToUpper(r.Noun(1)), "ISOLATED", "FROM OUTSIDE", "TO OUTSIDE"}}
	for n := range r.Pods {
		p := &r.Pods[n]
		if !p.Ingress || !p.Egress || p.FromWorld.Scope == audit.World {
			exposed.add(p.Namespace+"/"+p.Name, isolationText(p), accessText(&p.FromWorld), accessText(&p.ToWorld))
		}
	}
	matrix := table{head: []string{"FROM", "TO", "PAIRS", "TRAFFIC"}}
	for n := range r.Matrix {
		c := &r.Matrix[n]
		traffic := strings.Join(c.Traffic, "; ")
		if c.More {
			traffic += "; …"
		}
		matrix.add(c.From, c.To, fmt.Sprintf("%d of %d", c.Allowed, c.Pairs), traffic)
	}
	policies := table{head: []string{"POLICY", "CREATED", strings.ToUpper(r.Noun(0)), "RULES", "ONLY IT ISOLATES"}}
	for n := range r.Policies {
		p := &r.Policies[n]
		name := object.Ref{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}
		created := p.Created
		if created == "" {
			created = "unknown"
		}
		sole := fmt.Sprintf("%d %s", p.Sole, r.Noun(p.Sole))
		if p.Staged {
			sole = "staged"
		}
		policies.add(name.Path(), created, strconv.Itoa(p.Pods), strconv.Itoa(p.Rules), sole)
	}
	parts := textOf([]*table{&namespaces, &exposed, &matrix, &policies}, bare, i)
	for _, what := range r.NotExamined {
		parts = append(parts, i.odd("not examined")+": "+what+"\n")
	}
	return strings.Join(parts, "\n")
}

func isolationText(p *audit.Pod) string {
	switch {
	case p.Ingress && p.Egress:
		return "both"
	case p.Ingress:
		return "ingress"
	case p.Egress:
		return "egress"
	default:
		return "no"
	}
}

func accessText(a *audit.Access) string {
	if a.Scope == audit.None {
		return "none"
	}
	return string(a.Scope) + ": " + a.Traffic
}

// changesText formats what changed.
func changesText(c *audit.Changes, bare bool, i palette) string {
	if c.Empty() {
		return "nothing changed\n"
	}
	t := table{head: []string{"KIND", "OBJECT", "WHAT", "BEFORE", "AFTER"}, bare: bare}
	for n := range c.Changes {
		x := &c.Changes[n]
		t.add(x.Kind, orNone(x.Object), x.What, orNone(x.Before), orNone(x.After))
	}
	for _, name := range c.Appeared {
		t.add("pod", name, "exists", "no", "yes")
	}
	for _, name := range c.Vanished {
		t.add("pod", name, "exists", "yes", "no")
	}
	return t.text("", i)
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
