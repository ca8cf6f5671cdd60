package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// Answer is the result for the connections from one place to another.
type Answer struct {
	Question string `json:"question"` // such as "shop/web-0 -> shop/db-0 tcp/5432"
	From     string `json:"from"`
	To       string `json:"to"`
	// FromCluster and ToCluster are the clusters of the ends, if there are several; "" for an address outside.
	FromCluster string  `json:"fromCluster,omitempty"`
	ToCluster   string  `json:"toCluster,omitempty"`
	Port        string  `json:"port"`
	Verdict     Verdict `json:"verdict"`
	// Notes list what policies see of an end, if that differs from its name.
	Notes []string `json:"notes,omitempty"`
	// Doubts list why the verdict is not certain: see world.DoubtsOn.
	Doubts []string `json:"doubts,omitempty"`
	// Staged is the verdict if the staged policies were in force; nil if it would be the same. It is among the notes.
	Staged *Staged `json:"staged,omitempty"`
	Flows  []Flow  `json:"flows"` // one for each two addresses of one family
}

// Flow is a connection between two addresses.
type Flow struct {
	Family      string     `json:"family"` // ipv4 or ipv6
	Source      string     `json:"source"`
	Destination string     `json:"destination"` // with the port, if the protocol has ports
	Verdict     Verdict    `json:"verdict"`
	Service     *Balancing `json:"service,omitempty"` // set if a Service load-balanced it; then it has no sides
	Egress      *Side      `json:"egress,omitempty"`
	Ingress     *Side      `json:"ingress,omitempty"`
	Change      []string   `json:"change,omitempty"` // what would have to change for the opposite verdict
}

// Balancing is how a Service load-balances a connection to one of its frontends.
type Balancing struct {
	Service  string          `json:"service"`  // such as Service/shop/db
	Frontend string          `json:"frontend"` // such as tcp/10.96.0.10:5432
	Kind     string          `json:"kind"`     // cluster, nodeport, external or ingress
	Outcome  string          `json:"outcome"`  // sent on, refused, unserved or barred
	Choices  []BackendAnswer `json:"backends,omitempty"`
}

// BackendAnswer is the result for a connection that is sent on to one backend.
type BackendAnswer struct {
	Address string   `json:"address"`
	Pod     string   `json:"pod,omitempty"`
	Node    string   `json:"node,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Egress  *Side    `json:"egress,omitempty"`
	Ingress *Side    `json:"ingress,omitempty"`
	Change  []string `json:"change,omitempty"`
}

// Of answers a question: one answer for each pair of places. It fails if the question names something that does not
// exist.
func Of(w *world.World, q question.Question, at question.Where) ([]Answer, error) {
	return WithRows(w, q, at, nil)
}

// WithRows answers like Of, with the rows of a data plane that decide.
func WithRows(w *world.World, q question.Question, at question.Where, rows RowNamer) ([]Answer, error) {
	pairs, err := question.PairsOf(w, q, at, false)
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, 0, len(pairs))
	for i := range pairs {
		a, err := answer(&pairs[i], at, rows)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, addStaged(w, answers, q, at)
}

// answer evaluates every connection of a pair.
func answer(p *question.Pair, at question.Where, rows RowNamer) (Answer, error) {
	w := p.At
	flows, err := p.Flows(at)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Question: p.String(), From: p.From.Name, To: p.To.Name, Port: p.Port.String()}
	if w.Several() {
		a.FromCluster, a.ToCluster = p.From.Cluster(), p.To.Cluster()
	}
	for _, e := range []*world.End{p.From, p.To} {
		if e.Note != "" {
			a.Notes = append(a.Notes, e.Name+" is "+e.Note)
		}
	}
	if note := w.ServicesUnknown(); note != "" && (p.To.Kind == name.Service || p.To.Kind == name.Address) {
		a.Notes = append(a.Notes, p.To.Name+": "+note)
	}
	if !w.Judges() && p.To.Kind == name.Address {
		a.Notes = append(a.Notes, fmt.Sprintf("%s: Services of cluster %s were not read: this may be the address of one", p.To.Name, w.State.Cluster))
	}
	a.Doubts = p.Doubts()
	for i := range flows {
		a.Flows = append(a.Flows, judge(w, &flows[i], p, rows))
	}
	a.noteMadeUp()
	a.Verdict = a.Flows[0].Verdict
	for i := range a.Flows {
		a.Verdict = a.Verdict.with(a.Flows[i].Verdict)
	}
	return a, nil
}

// noteMadeUp notes the rules that may match other addresses than those that are made up.
func (a *Answer) noteMadeUp() {
	var rules []string
	add := func(sides ...*Side) {
		for _, s := range sides {
			if s != nil {
				rules = append(rules, s.unsure...)
			}
		}
	}
	for i := range a.Flows {
		f := &a.Flows[i]
		add(f.Egress, f.Ingress)
		if f.Service != nil {
			for n := range f.Service.Choices {
				add(f.Service.Choices[n].Egress, f.Service.Choices[n].Ingress)
			}
		}
	}
	slices.Sort(rules)
	if rules = slices.Compact(rules); len(rules) > 0 {
		a.Notes = append(a.Notes, "an address is made up: the real one may be in the blocks of "+object.Few(rules, shownRules)+", or not")
	}
}

// shownRules is how many rules a note names.
const shownRules = 3

// verdictOfBalanced is the combined verdict of all choices.
func verdictOfBalanced(b *intent.Balanced, of func(choice int) Verdict) Verdict {
	if b.Outcome == intent.Refused {
		return Refuse
	}
	v := Deny
	for i := range b.Choices {
		one := of(i)
		if i == 0 {
			v = one
		}
		v = v.with(one)
	}
	return v
}

// judge evaluates the snapshot and collects the reasons. Each end is judged by the policies of its cluster.
func judge(w *world.World, f *intent.Flow, p *question.Pair, rows RowNamer) Flow {
	v := w.State.Snapshot.Evaluate(*f)
	out := Flow{
		Family: world.FamilyOf(f.Dst.Addr), Source: w.State.AddrText(f.Src.Addr), Destination: w.State.AddrText(f.Dst.Addr) + " " + question.PortText(f),
	}
	if v.Balanced == nil {
		c := &connection{*f, p.From.Name, p.To.Name, rows}
		out.Egress, out.Ingress = sides(w, c, v.Egress, v.Ingress)
		out.Verdict = both(out.Egress.Verdict, out.Ingress.Verdict)
		out.Change = change(w, c, out.Egress, out.Ingress)
		return out
	}
	b := v.Balanced
	out.Service = &Balancing{
		Service: b.LoadBalancer.Origin.String(), Frontend: w.State.Shown(b.Frontend.String()), Kind: b.Frontend.Kind.String(),
		Outcome: b.Outcome.String(),
	}
	for i := range b.Choices {
		out.Service.Choices = append(out.Service.Choices, choice(w, f, &b.Choices[i], p, rows))
	}
	out.Verdict = verdictOfBalanced(b, func(i int) Verdict { return out.Service.Choices[i].Verdict })
	out.Change = changeOfService(f, b)
	return out
}

// choice is the result for a flow that is sent on to one backend: the pod with the address, if any.
func choice(w *world.World, f *intent.Flow, c *intent.Choice, p *question.Pair, rows RowNamer) BackendAnswer {
	b := &c.Backend
	out := BackendAnswer{
		Address: w.State.Shown(b.AddrPort().String()), Pod: w.PodAt(b.Addr), Node: b.Node,
	}
	to := &connection{*f, p.From.Name, cmp.Or(out.Pod, out.Address), rows}
	to.Dst, to.Port = intent.Party{Addr: b.Addr}, b.Port
	out.Egress, out.Ingress = sides(w, to, c.Egress, c.Ingress)
	out.Verdict = both(out.Egress.Verdict, out.Ingress.Verdict)
	out.Change = change(w, to, out.Egress, out.Ingress)
	return out
}

// Asker answers questions about one pair of places in short: with the verdict, "" if there is no such pair or there are several, and with
// what would allow the connection if it is not allowed.
func Asker(w *world.World) func(question.Question) (verdict string, change []string) {
	return func(q question.Question) (string, []string) {
		answers, err := Of(w, q, question.Where{})
		if err != nil || len(answers) != 1 {
			return "", nil
		}
		if answers[0].Verdict == Allow {
			return string(Allow), nil
		}
		return string(answers[0].Verdict), answers[0].Flows[0].Change
	}
}

// unknown lists why an answer is unknown.
func (a *Answer) unknown() string {
	var why []string
	for _, s := range a.Sides() {
		if s.Verdict == VerdictUnknown && !slices.Contains(why, s.Note) {
			why = append(why, s.Note)
		}
	}
	return strings.Join(why, "; ")
}
