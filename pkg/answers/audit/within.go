package audit

import "slices"

// Within keeps what is about a namespace: its pods and policies, and the connections from and to it. Cluster-wide policies stay, since they
// may apply to it.
func (r *Report) Within(namespace string) {
	r.Namespaces = slices.DeleteFunc(r.Namespaces, func(n Namespace) bool { return n.Name != namespace })
	r.Pods = slices.DeleteFunc(r.Pods, func(p Pod) bool { return p.Namespace != namespace })
	r.Matrix = slices.DeleteFunc(r.Matrix, func(c Cell) bool { return c.From != namespace && c.To != namespace })
	r.Policies = slices.DeleteFunc(r.Policies, func(p Policy) bool { return p.Namespace != "" && p.Namespace != namespace })
	r.Summary = Summary{Namespaces: len(r.Namespaces)}
	for i := range r.Policies {
		if r.Policies[i].Staged {
			r.Summary.Staged++
		} else {
			r.Summary.Policies++
		}
	}
	for i := range r.Namespaces {
		r.Summary.Counts = r.Namespaces[i].Counts
	}
}
