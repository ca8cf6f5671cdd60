package dispatch

import "github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"

// Request is what rules look at.
type Request struct {
	IsResource bool   // a request for a resource of the API, not for a path such as /healthz
	Verb       string // such as list; the lower-case method if IsResource is false

	APIGroup, Resource, Subresource, Name string // if IsResource is true
	Path                                  string // if it is false

	User   string
	Groups []string
}

// Table is the compiled list of the dispatch policies of a cluster. It is safe for concurrent use.
type Table struct{ policies [][]rule }

// Compile compiles policies. Elements that match nothing, such as pods/*, are no errors here: the CRD rejects them.
func Compile(policies []v1alpha1.DispatchPolicy) *Table {
	t := &Table{policies: make([][]rule, len(policies))}
	for i := range policies {
		for j := range policies[i].Rules {
			t.policies[i] = append(t.policies[i], newRule(&policies[i].Rules[j]))
		}
	}
	return t
}

// Match returns the index of the first policy that matches q, or -1.
func (t *Table) Match(q *Request) int {
	for i, rules := range t.policies {
		for j := range rules {
			if rules[j].matches(q) {
				return i
			}
		}
	}
	return -1
}
