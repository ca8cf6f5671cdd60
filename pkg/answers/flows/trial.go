package flows

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/object"
)

const (
	maxDifferences = 256  // flows that a trial distinguishes for one staged policy
	maxTrialRows   = 4096 // of all together
	maxTrials      = 1000 // staged policies that it counts for
)

// Trial counts what staged policies would decide differently, from the lines of ACL logs. Its size is bounded: flows for which there is no
// room are counted together. It is safe for concurrent use. Make it with NewTrial.
type Trial struct {
	mu       sync.Mutex
	judge    *Judge
	policies map[string]*tried
	rows     int // of all policies
}

// tried is what was seen for one staged policy.
type tried struct {
	seen  sightings
	flows map[Difference]*sightings
	other sightings // of flows for which there is no room
}

// sightings counts lines. A connection is logged by the ACL that observes and by those that have a log of their own, which also log later
// packets of it: the latter count only where the former was never seen.
type sightings struct {
	observed, logged uint64
	first, last      time.Time
}

func (s *sightings) count() uint64 {
	if s.observed > 0 {
		return s.observed
	}
	return s.logged
}

func (s *sightings) add(observed bool, at time.Time) {
	if observed {
		s.observed++
	} else {
		s.logged++
	}
	if s.first.IsZero() || at.Before(s.first) {
		s.first = at
	}
	if at.After(s.last) {
		s.last = at
	}
}

// NewTrial makes a trial in which nothing was seen.
func NewTrial(judge *Judge) *Trial { return &Trial{judge: judge, policies: map[string]*tried{}} }

// Use has later lines judged by another judge. What was counted for policies that are no longer staged is dropped.
func (t *Trial) Use(judge *Judge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.judge = judge
	for name, p := range t.policies {
		if !judge.staged[name] {
			t.rows -= len(p.flows)
			delete(t.policies, name)
		}
	}
}

// Line counts a line, and returns the differences that are new. Other lines than those of an ACL log are ignored. A line without a stamp, or
// with a stamp in the future, counts as of now.
func (t *Trial) Line(line []byte, now time.Time) []Difference {
	e, ok := acllog.Parse(string(line), now)
	if !ok {
		return nil
	}
	t.mu.Lock()
	judge := t.judge
	t.mu.Unlock()
	r, ok := judge.judge(&e)
	if !ok {
		return nil
	}
	at := e.At
	if at.Unix() <= 0 || at.After(now.Add(maxAhead)) {
		at = now
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range r.selected {
		if p := t.of(name); p != nil {
			p.seen.add(r.observed, at)
		}
	}
	var fresh []Difference
	for _, d := range r.differ {
		p := t.of(d.Policy)
		if p == nil {
			continue
		}
		row := p.flows[d]
		switch {
		case row != nil:
		case len(p.flows) < maxDifferences && t.rows < maxTrialRows:
			row = &sightings{}
			p.flows[d] = row
			t.rows++
			fresh = append(fresh, d)
		default:
			row = &p.other
		}
		row.add(r.observed, at)
	}
	return fresh
}

// of returns what was seen for a policy; nil if there is no room for it, or if it is no longer staged.
func (t *Trial) of(name string) *tried {
	p := t.policies[name]
	if p == nil && len(t.policies) < maxTrials && t.judge.staged[name] {
		p = &tried{flows: map[Difference]*sightings{}}
		t.policies[name] = p
	}
	return p
}

// Tried is what was seen of the connections that a staged policy is about.
type Tried struct {
	Policy string     `json:"policy"` // such as NetworkPolicy/shop/db-staged
	Ref    object.Ref `json:"-"`      // of it; zero if it is not staged any more
	// Connections is how many were seen of the pods that it selects, or that the policy which it replaces does. Not all of them need to
	// have been logged: meters limit the lines.
	Connections uint64      `json:"connections"`
	First       time.Time   `json:"first,omitzero"` // of these; zero if there was none
	Last        time.Time   `json:"last,omitzero"`
	Flows       []TriedFlow `json:"flows,omitempty"` // what it would decide differently, denied ones first, then the most frequent
	Other       uint64      `json:"other,omitempty"` // connections of further such flows, for which there was no room
}

// TriedFlow is a flow that a staged policy would decide differently.
type TriedFlow struct {
	From      string    `json:"from"`
	To        string    `json:"to"`
	Port      string    `json:"port"`
	Direction string    `json:"direction"` // of the policy: ingress or egress
	Would     Verdict   `json:"would"`     // be allowed or denied
	Rule      string    `json:"rule"`      // the one that would decide, Isolation or Replaced
	Count     uint64    `json:"count"`
	First     time.Time `json:"first"`
	Last      time.Time `json:"last"`
}

// Would counts the flows that would be denied, or allowed.
func (t *Tried) Would(v Verdict) int {
	n := 0
	for i := range t.Flows {
		if t.Flows[i].Would == v {
			n++
		}
	}
	return n
}

// Summary says how many connections were seen, and how many flows would be denied and allowed.
func (t *Tried) Summary() string {
	plural := func(n uint64, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	text := plural(t.Connections, "connection")
	denied, allowed := t.Would(Denied), t.Would(Allowed)
	if denied+allowed == 0 && t.Other == 0 {
		return text + ", all decided as now"
	}
	if denied > 0 {
		text += fmt.Sprintf(", %s would be denied", plural(uint64(denied), "flow"))
	}
	if allowed > 0 {
		text += fmt.Sprintf(", %s would be allowed", plural(uint64(allowed), "flow"))
	}
	if t.Other > 0 {
		text += ", and more"
	}
	return text
}

// Since is the summary with the time of the first connection; "" if none was seen.
func (t *Tried) Since() string {
	if t.Connections == 0 {
		return ""
	}
	return "since " + t.First.UTC().Format(time.RFC3339) + ": " + t.Summary()
}

// Report lists all staged policies by name, also those of whose connections none was seen.
func (t *Trial) Report() []Tried {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]Tried, 0, len(t.judge.names))
	for _, name := range t.judge.names {
		out = append(out, t.report(name))
	}
	return out
}

// Of is what was seen for one policy, by its name.
func (t *Trial) Of(policy string) Tried {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.report(policy)
}

// report describes what was seen for a policy. The lock is held.
func (t *Trial) report(name string) Tried {
	out := Tried{Policy: name, Ref: t.judge.refs[name]}
	p := t.policies[name]
	if p == nil {
		return out
	}
	out.Connections, out.First, out.Last, out.Other = p.seen.count(), p.seen.first, p.seen.last, p.other.count()
	for d, row := range p.flows {
		out.Flows = append(out.Flows, TriedFlow{
			From: d.From, To: d.To, Port: d.Port, Direction: d.Direction.String(), Would: d.Would, Rule: d.Rule,
			Count: row.count(), First: row.first, Last: row.last,
		})
	}
	slices.SortFunc(out.Flows, compareTried)
	return out
}

func compareTried(a, b TriedFlow) int {
	return cmp.Or(-strings.Compare(string(a.Would), string(b.Would)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From),
		cmp.Compare(a.To, b.To), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Direction, b.Direction), cmp.Compare(a.Rule, b.Rule))
}
