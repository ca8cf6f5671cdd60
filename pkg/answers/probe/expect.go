package probe

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/netloom/netloom/pkg/answers/question"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
)

// Results is the outcome of expectations.
type Results struct {
	Passed      int      `json:"passed"`
	Failed      int      `json:"failed"`
	Connections int      `json:"connections"` // evaluated in total
	Results     []Result `json:"results"`     // one for each expectation, in order
	// Looked counts the policies that were evaluated, as a measure of the work.
	Looked int `json:"-"`
}

// Result is the outcome of one expectation.
type Result struct {
	Name    string  `json:"name"`
	Text    string  `json:"text"` // what is expected, such as "shop/web-0 -> shop/db-0 tcp/5432 deny"
	Expect  Verdict `json:"expect"`
	Passed  bool    `json:"passed"`
	Error   string  `json:"error,omitempty"` // why it cannot be evaluated; then it has failed
	Answers int     `json:"answers"`         // pairs of ends that were evaluated
	Wrong   int     `json:"wrong,omitempty"` // those with another verdict
	// Doubts list why some of the verdicts are not certain: see world.DoubtsOn.
	Doubts []string `json:"doubts,omitempty"`
	// Failures are the first maxFailures answers that are wrong.
	Failures []Answer `json:"failures,omitempty"`
}

// doubt adds what is not in Doubts yet.
func (r *Result) doubt(why []string) {
	for _, d := range why {
		if !slices.Contains(r.Doubts, d) {
			r.Doubts = append(r.Doubts, d)
		}
	}
}

// maxFailures is how many wrong answers of an expectation are explained.
const maxFailures = 3

// Check evaluates expectations against the state.
func Check(w *world.World, file *Expectations) Results {
	out := Results{Results: []Result{}}
	for i := range file.List {
		e := &file.List[i]
		r := Result{Name: e.Title(), Text: e.Text(), Expect: e.Expect}
		where := question.Where{Namespace: file.Namespace, Node: e.Node, Network: e.Network}
		for _, q := range e.questions() {
			if err := check(w, q, where, &r, &out); err != nil {
				r.Error = err.Error()
				break
			}
		}
		r.Passed = r.Error == "" && r.Wrong == 0
		if r.Passed {
			out.Passed++
		} else {
			out.Failed++
		}
		out.Results = append(out.Results, r)
	}
	return out
}

// check evaluates one question of an expectation.
func check(w *world.World, q question.Question, where question.Where, r *Result, all *Results) error {
	pairs, err := question.PairsOf(w, q, where, false)
	if err != nil {
		return err
	}
	for i := range pairs {
		flows, err := pairs[i].Flows(where)
		if err != nil {
			return err
		}
		r.Answers++
		r.doubt(pairs[i].Doubts())
		all.Connections += len(flows)
		at := pairs[i].At
		got := verdict(at, &flows[0], &all.Looked)
		for n := range flows[1:] {
			got = got.with(verdict(at, &flows[1+n], &all.Looked))
		}
		if got == r.Expect {
			continue
		}
		if r.Wrong++; len(r.Failures) == maxFailures && got != VerdictUnknown {
			continue
		}
		a, err := answer(&pairs[i], where, nil)
		switch {
		case err != nil:
			return err
		case got == VerdictUnknown:
			return fmt.Errorf("%s: %s", a.Question, a.unknown())
		}
		r.Failures = append(r.Failures, a)
	}
	return nil
}

// verdict is the result of judge for a flow, without the reasons. Only the policies of both ends are evaluated, unless
// the flow is to a frontend.
func verdict(w *world.World, f *intent.Flow, looked *int) Verdict {
	s := w.State.Snapshot
	if _, front := s.Frontend(f.Network, f.Protocol, netip.AddrPortFrom(f.Dst.Addr, f.Port)); front != nil {
		v := s.Evaluate(*f)
		*looked += s.PolicyCount() * len(v.Balanced.Choices)
		return verdictOfBalanced(v.Balanced, func(i int) Verdict {
			c := &connection{Flow: *f}
			c.Dst, c.Port = intent.Party{Addr: v.Balanced.Choices[i].Backend.Addr}, v.Balanced.Choices[i].Backend.Port
			return passes(w, c, new(int))
		})
	}
	return passes(w, &connection{Flow: *f}, looked)
}

// passes is the verdict of the policies of both ends.
func passes(w *world.World, c *connection, looked *int) Verdict {
	if c.Src.Addr == c.Dst.Addr {
		return Allow
	}
	return both(passesAt(w, intent.Egress, c, looked), passesAt(w, intent.Ingress, c, looked))
}

// lets reports whether the policies of one end let a connection pass.
func lets(w *world.World, d intent.Direction, c *connection, looked *int) bool {
	subject, _ := world.Parties(&c.Flow, d)
	policies := w.PoliciesOf(d, subject)
	*looked += len(policies)
	return w.State.Snapshot.Decide(c.Flow, d, policies).Allowed
}

// passesAt is sideAt without the reasons.
func passesAt(w *world.World, d intent.Direction, c *connection, looked *int) Verdict {
	subject, _ := world.Parties(&c.Flow, d)
	out := Allow
	for _, member := range w.Holders(subject) {
		one := VerdictUnknown
		if member.Judges() {
			one = verdictOf(lets(member, d, c, looked))
		}
		out = both(out, one)
	}
	return out
}
