package audit

import (
	"fmt"
	"strconv"
)

// Changes is what differs between two reports, in the order of the later one.
type Changes struct {
	Changes []Change `json:"changes"`
	// Appeared and Vanished are pods in one report only. Nothing else is said about them.
	Appeared []string `json:"appeared,omitempty"`
	Vanished []string `json:"vanished,omitempty"`
}

// Change is one value that differs.
type Change struct {
	Kind   string `json:"kind"` // cluster, namespace, pod, connections or a kind of policy
	Object string `json:"object,omitempty"`
	What   string `json:"what"`
	Before string `json:"before,omitempty"` // "" if there was none
	After  string `json:"after,omitempty"`  // "" if there is none
}

// Empty reports whether nothing differs.
func (c *Changes) Empty() bool { return len(c.Changes)+len(c.Appeared)+len(c.Vanished) == 0 }

// Since lists what changed from an old report to a new one.
func Since(old, now *Report) Changes {
	out := Changes{Changes: []Change{}}
	out.counts("cluster", "", old.Summary.Counts, now.Summary.Counts)
	out.add("cluster", "", "policies", strconv.Itoa(old.Summary.Policies), strconv.Itoa(now.Summary.Policies))
	pair(old.Namespaces, now.Namespaces, func(n *Namespace) string { return n.Name }, func(was, is *Namespace) {
		switch {
		case is == nil:
			out.add("namespace", was.Name, "exists", "yes", "no")
		case was == nil:
			out.add("namespace", is.Name, "exists", "no", "yes")
		default:
			out.counts("namespace", is.Name, was.Counts, is.Counts)
		}
	})
	pair(old.Pods, now.Pods, func(p *Pod) string { return p.Namespace + "/" + p.Name }, out.pod)
	pair(old.Matrix, now.Matrix, func(c *Cell) string { return c.From + " -> " + c.To }, func(was, is *Cell) {
		name := ""
		for _, c := range []*Cell{was, is} {
			if c != nil {
				name = c.From + " -> " + c.To
			}
		}
		out.add("connections", name, "allowed", was.text(), is.text())
	})
	pair(old.Policies, now.Policies, (*Policy).name, out.policy)
	return out
}

// add adds a change if two values differ.
func (c *Changes) add(kind, object, what, before, after string) {
	if before != after {
		c.Changes = append(c.Changes, Change{kind, object, what, before, after})
	}
}

func (c *Changes) counts(kind, object string, was, is Counts) {
	for _, row := range []struct {
		what   string
		was, i int
	}{
		{"pods", was.Pods, is.Pods},
		{"pods isolated for ingress", was.IsolatedIngress, is.IsolatedIngress},
		{"pods isolated for egress", was.IsolatedEgress, is.IsolatedEgress},
		{"pods open to the world", was.FromWorld, is.FromWorld},
		{"pods that reach the world", was.ToWorld, is.ToWorld},
	} {
		c.add(kind, object, row.what, strconv.Itoa(row.was), strconv.Itoa(row.i))
	}
}

func (c *Changes) pod(was, is *Pod) {
	switch {
	case is == nil:
		c.Vanished = append(c.Vanished, was.Namespace+"/"+was.Name)
	case was == nil:
		c.Appeared = append(c.Appeared, is.Namespace+"/"+is.Name)
	default:
		name := is.Namespace + "/" + is.Name
		c.add("pod", name, "isolated for ingress", yes(was.Ingress), yes(is.Ingress))
		c.add("pod", name, "isolated for egress", yes(was.Egress), yes(is.Egress))
		c.add("pod", name, "reached from outside", was.FromWorld.text(), is.FromWorld.text())
		c.add("pod", name, "reaches outside", was.ToWorld.text(), is.ToWorld.text())
	}
}

func (c *Changes) policy(was, is *Policy) {
	switch {
	case is == nil:
		c.add(was.Kind, was.name(), "exists", "yes", "no")
	case was == nil:
		c.add(is.Kind, is.name(), "exists", "no", "yes")
	default:
		c.add(is.Kind, is.name(), "staged", yes(was.Staged), yes(is.Staged))
		c.add(is.Kind, is.name(), "meaning", was.Digest, is.Digest)
		c.add(is.Kind, is.name(), "pods", strconv.Itoa(was.Pods), strconv.Itoa(is.Pods))
		c.add(is.Kind, is.name(), "pods that only it isolates", strconv.Itoa(was.Sole), strconv.Itoa(is.Sole))
	}
}

// pair calls do with the elements of the same name of two lists, in the order of the second, then of what is only in the first. One of
// a name that is missing is nil.
func pair[T any](old, now []T, name func(*T) string, do func(was, is *T)) {
	before := map[string]*T{}
	for i := range old {
		before[name(&old[i])] = &old[i]
	}
	for i := range now {
		do(before[name(&now[i])], &now[i])
		delete(before, name(&now[i]))
	}
	for i := range old {
		if was := before[name(&old[i])]; was != nil {
			do(was, nil)
		}
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// text is the access in words.
func (x *Access) text() string {
	if x.Scope == None {
		return "none"
	}
	return string(x.Scope) + ": " + x.Traffic
}

// text is a cell in words; that of nil is none.
func (c *Cell) text() string {
	if c == nil {
		return "none"
	}
	verdict := "some"
	if c.Allowed == c.Pairs {
		verdict = "all"
	}
	return fmt.Sprintf("%s pairs: %s", verdict, c.traffic())
}

// traffic is what passes, in words.
func (c *Cell) traffic() string {
	out := ""
	for i, t := range c.Traffic {
		if i > 0 {
			out += "; "
		}
		out += t
	}
	if c.More {
		out += "; …"
	}
	return out
}
