package world

import "slices"

// Unjudged is what was left out of a reading and may decide on connections, by the namespaces of the pods that it concerns. The zero value
// is nothing.
type Unjudged struct {
	everywhere []string                  // concerns all pods, and what is outside
	of         map[string]map[string]int // how many objects concern pods in a namespace only, by kind
}

// ByNamespace sorts what was left out of a reading; nothing for nil. It takes time in proportion to the objects and the namespaces that
// they name.
func (r *Reading) ByNamespace() *Unjudged {
	if r == nil {
		return &Unjudged{}
	}
	out := &Unjudged{everywhere: r.doubts(false, func(c concern) bool { return c == concern{} }), of: map[string]map[string]int{}}
	for i := range r.Foreign {
		f := &r.Foreign[i]
		for _, namespace := range slices.Compact(slices.Sorted(slices.Values(f.Namespaces))) {
			if out.of[namespace] == nil {
				out.of[namespace] = map[string]int{}
			}
			out.of[namespace][f.Kind]++
		}
	}
	return out
}

// On lists what may decide on the connections of the pods in a namespace, one line each; "" stands for addresses outside.
func (u *Unjudged) On(namespace string) []string {
	out := slices.Clone(u.everywhere)
	if of := u.of[namespace]; len(of) > 0 {
		out = append(out, unjudgedText(of))
	}
	return out
}

// Concerns reports whether anything may decide on them: whether On lists anything.
func (u *Unjudged) Concerns(namespace string) bool { return len(u.everywhere)+len(u.of[namespace]) > 0 }

// unjudgedText formats counts by kind as a doubt.
func unjudgedText(of map[string]int) string {
	return "ignored, although they decide on connections: " + countsText(of)
}
