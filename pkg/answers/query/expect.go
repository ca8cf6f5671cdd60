package query

import (
	"fmt"
	"net/netip"

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
	// Failures are the first maxFailures answers that are wrong.
	Failures []Answer `json:"failures,omitempty"`
}

// maxFailures is how many wrong answers of an expectation are explained.
const maxFailures = 3

// Check evaluates expectations against the state.
func (inv *Inventory) Check(file *Expectations) Results {
	out := Results{Results: []Result{}}
	for i := range file.List {
		e := &file.List[i]
		r := Result{Name: e.Title(), Text: e.Text(), Expect: e.Expect}
		where := Where{Namespace: file.Namespace, Node: e.Node, Network: e.Network}
		for _, q := range e.questions() {
			if err := inv.check(q, where, &r, &out); err != nil {
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
func (inv *Inventory) check(q Question, w Where, r *Result, all *Results) error {
	pairs, err := inv.pairs(q, w, false)
	if err != nil {
		return err
	}
	for i := range pairs {
		flows, err := pairs[i].flows(w)
		if err != nil {
			return err
		}
		r.Answers++
		all.Connections += len(flows)
		at := pairs[i].at
		verdict := at.verdict(&flows[0], &all.Looked)
		for n := range flows[1:] {
			verdict = verdict.with(at.verdict(&flows[1+n], &all.Looked))
		}
		if verdict == r.Expect {
			continue
		}
		if r.Wrong++; len(r.Failures) == maxFailures && verdict != VerdictUnknown {
			continue
		}
		a, err := at.answer(&pairs[i], w)
		switch {
		case err != nil:
			return err
		case verdict == VerdictUnknown:
			return fmt.Errorf("%s: %s", a.Question, a.unknown())
		}
		r.Failures = append(r.Failures, a)
	}
	return nil
}

// verdict is the result of judge for a flow, without the reasons. Only the policies of both ends are evaluated, unless
// the flow is to a frontend.
func (inv *Inventory) verdict(f *intent.Flow, looked *int) Verdict {
	s := inv.state.Snapshot
	if _, front := s.Frontend(f.Network, f.Protocol, netip.AddrPortFrom(f.Dst.Addr, f.Port)); front != nil {
		v := s.Evaluate(*f)
		*looked += s.PolicyCount() * len(v.Balanced.Choices)
		return verdictOfBalanced(v.Balanced, func(i int) Verdict {
			c := &connection{Flow: *f}
			c.Dst, c.Port = intent.Party{Addr: v.Balanced.Choices[i].Backend.Addr}, v.Balanced.Choices[i].Backend.Port
			return inv.passes(c, new(int))
		})
	}
	return inv.passes(&connection{Flow: *f}, looked)
}

// passes is the verdict of the policies of both ends.
func (inv *Inventory) passes(c *connection, looked *int) Verdict {
	if c.Src.Addr == c.Dst.Addr {
		return Allow
	}
	return both(inv.passesAt(intent.Egress, c, looked), inv.passesAt(intent.Ingress, c, looked))
}

// lets reports whether the policies of one end let a connection pass.
func (inv *Inventory) lets(d intent.Direction, c *connection, looked *int) bool {
	subject, _ := c.parties(d)
	policies := inv.policiesOf(d, subject)
	*looked += len(policies)
	return inv.state.Snapshot.Decide(c.Flow, d, policies).Allowed
}
