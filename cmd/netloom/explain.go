package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/explain"
	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/world"
)

func newExplain() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain -f DIR KIND/[NAMESPACE/]NAME",
		Short: "Explain the effect of a policy, a pod, a Service or an SD-WAN resource",
		Long: `Explain an object:

  NetworkPolicy         the pods that it isolates, and what each rule allows
  cluster-wide policy   its tier and priority, the pods that it applies to, and what each rule does
  pod                   the policies that select it in order of evaluation, what can reach it, and what it can reach
  Service               the endpoints behind each of its addresses, for each node if they differ
  SD-WAN resource       the devices that it applies to, its configuration on each, and its status

For a policy, also show the rules that have no effect because rules that take precedence decide first, policies of the
same tier and priority that contradict it, and the ACLs that it becomes in OVN or, with --backend tungsten, the firewall
rules on a Tungsten Fabric controller.

KIND is networkpolicy (netpol), clusternetworkpolicy (cnp), adminnetworkpolicy (anp), baselineadminnetworkpolicy (banp), pod,
service (svc, also with :PORT), or an SD-WAN kind such as mwan3rule. Without KIND, NAMESPACE/NAME is a pod or a workload, and a
workload such as deploy/shop/web is explained by its first pod. For an object of another cluster, the name of the cluster comes
first, as in b/pod/shop/db-0; --peer-manifests adds clusters. To find out which objects a row of the database comes from, use
"explain row".`,
		Example: `  netloom explain -f examples pod/shop/api-0
  netloom explain -f examples netpol/shop/db -o yaml
  netloom explain -f policies cnp/lockdown
  netloom explain -f deploy/examples/sdwan mwan3rule/edge/web
  netloom explain -f deploy/examples/clusters/a --cluster a --peer-manifests b=deploy/examples/clusters/b b/pod/shop/checkout-0`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newExplainRow())
	manifests := bindSources(cmd)
	manifests.bindClusters(cmd)
	manifests.firewalls, manifests.networks = true, true
	output := bindOutput(cmd, "table", "json", "yaml")
	explainer := bindExplainer(cmd)
	cmd.ValidArgsFunction = completeObject(manifests)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if len(args) == 0 || len(args) > 2 {
			err = errors.New("expected an object, such as pod/shop/web-0 or networkpolicy/shop/db")
		}
		rows, unknown := explainer()
		if err := errors.Join(err, output.check(), unknown); err != nil {
			return err
		}
		inv, state, err := manifests.ask(cmd)
		if err != nil {
			return err
		}
		e, err := explain.Of(inv, strings.Join(args, "/"), manifests.scope())
		if err != nil {
			return err
		}
		full := explained{Object: e}
		if e.SDWAN != nil {
			full.Sections = sdwanSections(inv, e.SDWAN)
		}
		if policy := cmp.Or(e.Policy, e.Cluster); policy != nil && (e.ClusterName == "" || e.ClusterName == state.Cluster) {
			full.Rows = policyRows(rows, inv, policy)
		}
		out := cmd.OutOrStdout()
		if output.form != "table" {
			return worst(printData(out, output.form, "Explanation", full), certain(&state))
		}
		_, err = fmt.Fprint(out, explanationText(&e, paletteFor(out))+rowsText(rows, full.Rows, paletteFor(out))+
			sectionsText(full.Sections, paletteFor(out)))
		return worst(err, certain(&state))
	}
	return cmd
}

// explanationText formats an explanation.
func explanationText(e *explain.Object, i palette) string {
	w := &answerWriter{palette: i}
	switch {
	case e.Policy != nil:
		w.policy(e.Policy)
	case e.Cluster != nil:
		w.clusterPolicy(e.Cluster)
	case e.Pod != nil:
		w.pod(e.Pod)
	case e.Service != nil:
		w.serviceFrontends(e.Service)
	case e.SDWAN != nil:
		w.sdwan(e.SDWAN)
	}
	return w.String()
}

func (w *answerWriter) policy(p *explain.Policy) {
	w.line("%s", w.palette.bold("networkpolicy "+p.Name))
	w.staged(p)
	w.directions(p, "isolates", "allows nothing", []string{"RULE", "PORTS"}, func(r *explain.PolicyRule) []string {
		return []string{r.Path, strings.Join(r.Ports, ", ")}
	})
}

func (w *answerWriter) clusterPolicy(p *explain.Policy) {
	w.line("%s", w.palette.bold(strings.ToLower(p.Kind)+" "+p.Name))
	if p.Tier != "" {
		w.line("  %s", placeText(p.Tier, p.Priority))
	}
	w.staged(p)
	w.directions(p, "applies to", "matches nothing", []string{"RULE", "NAME", "ACTION", "PORTS"}, func(r *explain.PolicyRule) []string {
		return []string{r.Path, r.Name, r.Action, strings.Join(r.Ports, ", ")}
	})
}

// staged says that a policy does not do what follows.
func (w *answerWriter) staged(p *explain.Policy) {
	if !p.Staged {
		return
	}
	text := "staged: it neither denies nor allows anything; if it were enforced"
	if p.Replaces != "" {
		text += " in place of " + p.Replaces
	}
	w.line("  %s", w.palette.odd(text+":"))
}

// directions writes what is wrong with a policy, and its rules by direction: the cells that row returns under head, then the peers.
func (w *answerWriter) directions(
	p *explain.Policy, verb, empty string, head []string, row func(*explain.PolicyRule) []string,
) {
	w.problems(p.Problems)
	w.findings(p.Findings)
	for i := range p.Directions {
		d := &p.Directions[i]
		w.line("")
		w.line("%s: %s %s", d.Direction, verb, membersText(&d.Subject))
		if d.Log != nil {
			w.line("  logs     %s", logText(d.Log))
		}
		if len(d.Rules) == 0 {
			w.line("  %s", empty)
			continue
		}
		peers := map[bool]string{true: "FROM", false: "TO"}[d.Direction == "ingress"]
		rules := table{head: append(slices.Clone(head), peers)}
		for k := range d.Rules {
			r := &d.Rules[k]
			text := membersText(&r.Peers)
			if r.Subject != nil {
				text += ", for " + membersText(r.Subject)
			}
			rules.add(append(row(r), text)...)
		}
		_, _ = w.WriteString(rules.text("  ", w.palette)) // it never fails
	}
}

func (w *answerWriter) findings(list []string) {
	for _, f := range list {
		w.line("%s %s", w.palette.odd("note:"), f)
	}
}

// placeText formats a tier and the priority in it, if there is one.
func placeText(tier string, priority *uint16) string {
	if priority == nil {
		return "tier " + tier
	}
	return fmt.Sprintf("tier %s, priority %d", tier, *priority)
}

func logText(l *intents.Logging) string {
	var parts []string
	if l.Allow != "" {
		parts = append(parts, "allowed traffic as "+l.Allow)
	}
	if l.Deny != "" {
		parts = append(parts, "denied traffic as "+l.Deny)
	}
	if l.Rate > 0 {
		parts = append(parts, fmt.Sprintf("at most %d lines a second", l.Rate))
	}
	return strings.Join(parts, ", ")
}

// membersText formats the members of a set: its title, and what it matches now.
func membersText(m *explain.Members) string {
	switch {
	case m.Count > 0:
		names := some(m.Pods, strings.Clone)
		if more := m.Count - len(m.Pods); more > 0 && len(m.Pods) <= shownRules {
			names += fmt.Sprintf(", … (%d more)", more)
		} else if m.Count > shownRules {
			names = strings.Join(m.Pods[:shownRules], ", ") + fmt.Sprintf(", … (%d more)", m.Count-shownRules)
		}
		return m.Title + ": " + names
	case len(m.Prefixes) > 0 || m.Title == "any" || m.Title == "none":
		return m.Title
	default:
		return m.Title + ": none at present"
	}
}

func (w *answerWriter) pod(p *explain.Pod) {
	head := "pod " + p.Name
	w.line("%s", w.palette.bold(head))
	w.problems(p.Problems)
	labels := make([]string, 0, len(p.Labels))
	for k, v := range p.Labels {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	for _, field := range []struct{ name, text string }{
		{"node", p.Node},
		{"network", p.Network},
		{"addresses", strings.Join(p.Addresses, ", ")},
		{"labels", strings.Join(labels, ", ")},
		{"ports", strings.Join(p.Ports, ", ")},
		{"services", strings.Join(p.Services, ", ")},
		{"note", p.Note},
		{"staged", some(p.Staged, strings.Clone)},
	} {
		if field.text != "" {
			w.line("  %-9s  %s", field.name, field.text)
		}
	}
	if len(p.PeerIn) > 0 {
		w.line("  %-9s  %s", "a peer in", some(p.PeerIn, world.Rule.String))
	}
	if p.Ingress != nil {
		w.podSide("ingress", "FROM", p.Ingress)
	}
	if p.Egress != nil {
		w.podSide("egress", "TO", p.Egress)
	}
}

func (w *answerWriter) podSide(direction, peers string, s *explain.Side) {
	w.line("")
	if len(s.IsolatedBy) == 0 {
		w.line("%s: no policy isolates it", direction)
	} else {
		w.line("%s: isolated by %s", direction, some(s.IsolatedBy, strings.Clone))
	}
	w.clusterPolicies("before NetworkPolicies, tier admin:", s.Admin)
	if len(s.IsolatedBy) == 0 {
		w.clusterPolicies("after NetworkPolicies, tier baseline:", s.Baseline)
	} else {
		w.clusterPolicies("not evaluated because it is isolated, tier baseline:", s.Baseline)
	}
	if len(s.Reach) == 0 {
		w.line("  allows nothing")
		return
	}
	rows := table{head: []string{"PORTS", peers, "BY"}}
	for i := range s.Reach {
		r := &s.Reach[i]
		by := some(r.By, world.Rule.String)
		if by == "" {
			by = "not isolated"
		}
		who := []string{}
		if text := groupText(&r.Group); text != "" {
			who = append(who, text)
		}
		for _, n := range r.Nodes {
			who = append(who, "node/"+n)
		}
		text := strings.Join(who, " and ")
		if r.Family != "" && len(r.Pods)+len(r.Nodes) > 0 {
			text += " over " + r.Family
		}
		rows.add(r.Ports, text, by)
	}
	_, _ = w.WriteString(rows.text("  ", w.palette)) // it never fails
	if len(s.Undecided) > 0 {
		w.line("  %s", w.palette.odd(undecidedText(s.Undecided)))
	}
}

// clusterPolicies lists policies in the order of evaluation.
func (w *answerWriter) clusterPolicies(what string, list []explain.ClusterPolicy) {
	if len(list) == 0 {
		return
	}
	w.line("  %s %s", what, some(list, func(p explain.ClusterPolicy) string {
		if p.Priority == nil {
			return p.Policy
		}
		return fmt.Sprintf("%s (%d)", p.Policy, *p.Priority)
	}))
}

// shownFrontends is how many addresses of a service are shown.
const shownFrontends = 20

func (w *answerWriter) serviceFrontends(s *explain.Service) {
	w.line("%s", w.palette.bold("service "+s.Name))
	w.problems(s.Problems)
	if s.Network != "" {
		w.line("  network  %s", s.Network)
	}
	if s.Note != "" {
		w.line("  %s", s.Note)
	}
	for i := range s.Frontends[:min(len(s.Frontends), shownFrontends)] {
		f := &s.Frontends[i]
		w.line("")
		w.line("%s", strings.Join(slices.DeleteFunc([]string{
			f.Address, f.Kind, f.Port, f.Node, map[bool]string{true: "", false: "(" + f.Locality + ")"}[f.Locality == "anywhere"],
		}, func(s string) bool { return s == "" }), "  "))
		if len(f.Denied) > 0 {
			w.line("  drops traffic from %s", some(f.Denied, strings.Clone))
		}
		if len(f.Backends) == 0 {
			w.line("  no endpoint: connections are %s", f.Empty)
		}
		for k := range f.Backends[:min(len(f.Backends), shownRules)] {
			w.line("  %s", backendText(&f.Backends[k]))
		}
		if more := len(f.Backends) - shownRules; more > 0 {
			w.line("  … and %d more: -o json lists them", more)
		}
		for _, c := range f.PerNode {
			ends := some(c.Backends, strings.Clone)
			if ends == "" {
				ends = "dropped"
			}
			w.line("  from %s at node %s: %s", c.Sender, c.Node, ends)
		}
	}
	if more := len(s.Frontends) - shownFrontends; more > 0 {
		w.line("\n… and %d more addresses: -o json lists them", more)
	}
}

func backendText(b *intents.Backend) string {
	text := b.Address
	if b.Pod != "" {
		text += "  " + b.Pod
	}
	if b.Node != "" {
		text += " on " + b.Node
	}
	if b.Draining {
		text += "  draining: used only if there is no other"
	}
	if hints := append(slices.Clone(b.ForNodes), b.ForZones...); len(hints) > 0 {
		text += "  hints: " + strings.Join(hints, ", ")
	}
	return text
}
