package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/answers/intents"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// translation is the translation of manifests.
type translation struct {
	Intents  intents.List     `json:"intents"`
	Problems []object.Problem `json:"problems"`
	Read     *world.Reading   `json:"read,omitempty"`
	within   string           // the only namespace of Intents; "" if they are of all
}

func newTranslate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "translate [-f] DIR|FILE|-",
		Short: "Show what manifests mean, and their problems",
		Long: `Show what manifests mean for the network: the pods that each policy isolates and what its rules allow, the endpoints behind
the addresses of each Service, the SD-WAN devices and their configuration, and every problem with its file and line, including
what a backend or a device cannot express. For the CI of a repository of policies, -o sarif and -o junit report only the problems,
and -o name lists what is translated. With -n, only what is in that namespace, or in none, is shown. Secrets in resources are never shown.

Exit with 0 if there are no problems, with 3 if there are or if there is nothing to translate, and with 1 on an error.`,
		Example: `  netloom translate -f policies
  kubectl get networkpolicies,pods,namespaces -A -o yaml | netloom translate -f -
  netloom translate -f policies -o sarif > netloom.sarif`,
		Args: cobra.ArbitraryArgs,
	}
	manifests := bindSources(cmd)
	manifests.bindBackend(cmd)
	output := bindTables(cmd, formTable, formName, formYAML, formJSON, formSARIF, "junit")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := output.check(); err != nil {
			return err
		}
		manifests.paths = append(manifests.paths, args...)
		state, err := manifests.load(cmd)
		if err != nil {
			return err
		}
		scoped := cmd.Flags().Changed("namespace")
		if scoped {
			state.Problems = slices.DeleteFunc(state.Problems, func(p object.Problem) bool {
				return p.Ref.Namespace != "" && p.Ref.Namespace != manifests.namespace
			})
		}
		t := translation{Intents: intents.Of(&state), Problems: state.Problems, Read: state.Reading}
		if scoped {
			t.within = manifests.namespace
			t.Intents.Within(t.within)
		}
		if t.Problems == nil {
			t.Problems = []object.Problem{}
		}
		if t.Read.Live || len(t.Read.Notes()) == 0 {
			t.Read = nil
		}
		if output.form == "table" {
			printReading(cmd, &state)
			for _, what := range t.Intents.Unknown {
				cmd.PrintErrln("note:", what)
			}
			for i := range t.Intents.Policies {
				for _, what := range t.Intents.Policies[i].Undeclared {
					cmd.PrintErrf("note: %s: %s\n", t.Intents.Policies[i].Origin, what)
				}
			}
		}
		if err := printTranslation(cmd.OutOrStdout(), output, manifests.title(), &t, subjectsOf(state.View)); err != nil {
			return err
		}
		return certain(&state)
	}
	return cmd
}

func printTranslation(w io.Writer, output *outputFlag, path string, t *translation, pods subjects) error {
	switch form := output.form; form {
	case "table":
		text := translationText(&t.Intents, pods, output.bare, paletteFor(w))
		switch {
		case text != "":
		case t.within != "":
			text = "no policies and no Services in namespace " + t.within + "\n"
		default:
			text = nothingText(pods)
		}
		_, err := io.WriteString(w, text)
		return err
	case "sarif":
		return printJSON(w, sarifOf(t.Problems))
	case formName:
		var names []string
		for i := range t.Intents.Policies {
			names = append(names, t.Intents.Policies[i].Origin)
		}
		for i := range t.Intents.LoadBalancers {
			names = append(names, t.Intents.LoadBalancers[i].Origin)
		}
		return printNames(w, names)
	case "junit":
		return writeJUnit(w, []junitSuite{suiteOfProblems(path, t.Problems)})
	default:
		return printData(w, form, "Translation", t)
	}
}

// translationText formats intents: a line for each rule, and for each frontend. It is empty if there are none.
func translationText(d *intents.List, pods subjects, bare bool, i palette) string {
	sets := map[string]*intents.Set{}
	for n := range d.Sets {
		sets[d.Sets[n].ID] = &d.Sets[n]
	}
	policies := table{head: []string{"POLICY", "DIRECTION", pods.heading(), "PORTS", "PEERS"}}
	for n := range d.Policies {
		p := &d.Policies[n]
		if p.Priority != nil {
			continue
		}
		all := 0
		if s := sets[p.Subject]; s != nil {
			all = s.Subjects
		}
		origin, direction, count := p.Origin, p.Direction, strconv.Itoa(all)
		if len(p.Rules) == 0 {
			policies.add(origin, direction, count, "none", "none")
		}
		for k := range p.Rules {
			r := &p.Rules[k]
			if s := sets[r.Subject]; s != nil {
				count = fmt.Sprintf("%d of %d", s.Subjects, all)
			}
			policies.add(origin, direction, count, strings.Join(r.Ports, ", "), peerTitle(sets, r.Peer))
			origin, direction, count = "", "", ""
		}
	}
	balancers := table{head: []string{"SERVICE", "KIND", "FRONTEND", "ENDPOINTS"}}
	for n := range d.LoadBalancers {
		lb := &d.LoadBalancers[n]
		origin := lb.Origin
		for k := range lb.Frontends {
			f := &lb.Frontends[k]
			ends := some(f.Backends, backendName)
			if len(f.Backends) == 0 {
				ends = "none"
			}
			balancers.add(origin, f.Kind, f.Address, ends)
			origin = ""
		}
	}
	parts := textOf(append([]*table{orderedTable(d, sets, pods.heading()), &policies, &balancers}, sdwanTables(d)...), bare, i)
	return strings.Join(parts, "\n")
}

// backendName is the address of a backend, or its pod if the address is made up.
func backendName(b intents.Backend) string {
	if strings.HasPrefix(b.Address, "(") {
		return b.Pod + b.Address[strings.LastIndex(b.Address, ":"):]
	}
	return b.Address
}

// nothingText is the translation of manifests without policies and Services. That everything is allowed can only be said of what was read.
func nothingText(pods subjects) string {
	if pods.n == 0 {
		return "no policies, no Services and no pods\n"
	}
	return fmt.Sprintf("no policies and no Services: nothing restricts the connections of %s\n", pods)
}

// orderedTable has a line for each rule of cluster-wide policies, in the order of evaluation.
func orderedTable(d *intents.List, sets map[string]*intents.Set, heading string) *table {
	t := &table{head: []string{"TIER", "PRIORITY", "POLICY", "DIRECTION", heading, "ACTION", "PORTS", "PEERS"}}
	var policies []*intents.Policy
	for n := range d.Policies {
		if d.Policies[n].Priority != nil {
			policies = append(policies, &d.Policies[n])
		}
	}
	slices.SortStableFunc(policies, func(a, b *intents.Policy) int {
		kind, name, _ := strings.Cut(a.Origin, "/")
		otherKind, otherName, _ := strings.Cut(b.Origin, "/")
		return cmp.Or(
			strings.Compare(a.Tier, b.Tier), cmp.Compare(*a.Priority, *b.Priority), strings.Compare(name, otherName),
			strings.Compare(kind, otherKind),
		)
	})
	for _, p := range policies {
		all := 0
		if s := sets[p.Subject]; s != nil {
			all = s.Subjects
		}
		tier, priority, origin, direction, count := p.Tier, strconv.Itoa(int(*p.Priority)), p.Origin, p.Direction, strconv.Itoa(all)
		if len(p.Rules) == 0 {
			t.add(tier, priority, origin, direction, count, "none", "none", "none")
		}
		for k := range p.Rules {
			r := &p.Rules[k]
			if s := sets[r.Subject]; s != nil {
				count = fmt.Sprintf("%d of %d", s.Subjects, all)
			}
			t.add(tier, priority, origin, direction, count, r.Action, strings.Join(r.Ports, ", "), peerTitle(sets, r.Peer))
			tier, priority, origin, direction, count = "", "", "", "", ""
		}
	}
	return t
}

func peerTitle(sets map[string]*intents.Set, peer string) string {
	s := sets[peer]
	if s == nil {
		return peer
	}
	title := s.Title
	if title == "" {
		title = s.ID
	}
	if len(s.Prefixes) > 0 && strings.HasPrefix(s.Title, s.Prefixes[0].String()) { // there are no pods among them
		return intent.PrefixText(s.Prefixes)
	}
	return fmt.Sprintf("%s (%d)", title, s.Subjects)
}
