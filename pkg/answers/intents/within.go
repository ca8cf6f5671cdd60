package intents

import (
	"slices"
	"strings"
)

// Within keeps the intents of the objects in a namespace, with the sets that their policies use, and those of objects in none, such as
// cluster-wide policies.
func (l *List) Within(namespace string) {
	elsewhere := func(origin string) bool {
		parts := strings.Split(origin, "/") // [cluster/]kind/[namespace/]name; a kind begins with a capital letter, which no namespace has
		of := ""
		if len(parts) > 2 {
			of = parts[len(parts)-2]
		}
		return of != "" && of == strings.ToLower(of) && of != namespace
	}
	l.Policies = slices.DeleteFunc(l.Policies, func(p Policy) bool { return elsewhere(p.Origin) })
	l.LoadBalancers = slices.DeleteFunc(l.LoadBalancers, func(b Balancer) bool { return elsewhere(b.Origin) })
	l.DeviceIntents = slices.DeleteFunc(l.DeviceIntents, func(d Device) bool { return elsewhere(d.Origin) })
	l.CNFs = slices.DeleteFunc(l.CNFs, func(c CNF) bool {
		of, _, _ := strings.Cut(c.ID, "/")
		return of != namespace
	})
	used := map[string]bool{}
	for i := range l.Policies {
		used[l.Policies[i].Subject] = true
		for k := range l.Policies[i].Rules {
			r := &l.Policies[i].Rules[k]
			used[r.Subject], used[r.Peer] = true, true
			for _, part := range r.Parts {
				used[part.Peer], used[part.Shared] = true, true
			}
		}
	}
	l.Sets = slices.DeleteFunc(l.Sets, func(s Set) bool { return !used[s.ID] })
}
