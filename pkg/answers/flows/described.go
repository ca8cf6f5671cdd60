package flows

import (
	"strings"
	"time"

	"github.com/netloom/netloom/pkg/answers/question"
)

// Described is a flow, with what the policies as they are now say about it.
type Described struct {
	From    string    `json:"from"`
	To      string    `json:"to"`
	Port    string    `json:"port"`
	Verdict Verdict   `json:"verdict"`
	Policy  string    `json:"policy,omitempty"`
	Rule    string    `json:"rule,omitempty"`
	ACL     string    `json:"acl,omitempty"`
	Count   uint64    `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	Now     string    `json:"now,omitempty"`    // "" if the policies cannot be asked about it
	Change  []string  `json:"change,omitempty"` // what it would take to allow a denied connection

	Key Key `json:"-"`
}

// maxAsked is for how many flows the policies are asked.
const maxAsked = 200

// Describe completes flows with what the policies say about the first of them: ask returns their verdict on a question, "" if there is
// none, and what would allow a denied connection.
func Describe(flows []Flow, ask func(question.Question) (verdict string, change []string)) []Described {
	out := make([]Described, len(flows))
	for i := range flows {
		f := &flows[i]
		out[i] = Described{
			From: f.From, To: f.To, Port: f.Port, Verdict: f.Verdict, Policy: f.Policy, Rule: f.Rule, ACL: f.ACL,
			Count: f.Count, First: f.First, Last: f.Last, Key: f.Key,
		}
		if i >= maxAsked {
			continue
		}
		var change []string
		if out[i].Now, change = ask(f.Question()); f.Verdict == Denied {
			out[i].Change = change
		}
	}
	return out
}

// Question asks the policies about a flow.
func (k *Key) Question() question.Question {
	port := k.Port
	if strings.HasPrefix(port, "icmp") {
		port = "icmp"
	}
	return question.Question{From: k.From, To: k.To, Port: port}
}
