package query

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// clusterSet is the inventories of the clusters of a set, by name. In answers, pods of the own cluster have names without a cluster.
type clusterSet struct {
	own     string
	members map[string]*Inventory
}

// join makes the inventories of the other clusters that a state has, and of those that only its endpoints name.
func (inv *Inventory) join() {
	set := &clusterSet{own: inv.state.Cluster, members: map[string]*Inventory{inv.state.Cluster: inv}}
	inv.set = set
	add := func(s State) {
		if set.members[s.Cluster] != nil {
			return
		}
		other := index(s)
		other.set, set.members[s.Cluster] = set, other
	}
	for _, s := range inv.state.Others {
		add(s)
	}
	for _, e := range inv.endpoints {
		if set.members[e.Key.Cluster] == nil {
			add(State{Cluster: e.Key.Cluster, View: inv.state.View, MadeUp: inv.state.MadeUp})
		}
	}
}

// several reports whether there is another cluster.
func (s *clusterSet) several() bool { return len(s.members) > 1 }

// nameOf names a pod: [cluster/]namespace/name.
func (s *clusterSet) nameOf(k object.Key) string { return NameIn(s.own, k) }

// NameIn names a pod as answers about a cluster do: only pods of other clusters have the name of theirs.
func NameIn(own string, k object.Key) string {
	if k.Cluster == own {
		k.Cluster = ""
	}
	return k.String()
}

// prefix is what names of objects of the inventory's cluster begin with in answers.
func (inv *Inventory) prefix() string {
	if inv.state.Cluster == inv.set.own {
		return ""
	}
	return inv.state.Cluster + "/"
}

// isOwn reports whether an endpoint is a pod of the inventory's cluster.
func (inv *Inventory) isOwn(e *labelcache.Endpoint) bool { return e.Key.Cluster == inv.state.Cluster }

// within takes the name of a cluster off a text with at least two more parts, such as b/shop/db-0, b/svc/shop/db or svc/b/shop/db.
// It returns the inventory of that cluster, nil if the text names none. Words for kinds come first: deploy/shop/web is a Deployment.
func (inv *Inventory) within(text string) (*Inventory, string, error) {
	words := strings.Split(text, "/")
	at := 0 // of the cluster
	if len(words) == 4 && kindWord(words[0]) {
		at = 1
	}
	if len(words)-at < 3 {
		return nil, text, nil
	}
	name := words[at]
	member := inv.set.members[name]
	if member == nil || name == "" || kindWord(name) {
		return nil, text, nil
	}
	after := words[at+1:]
	if _, workload := workloadWord(after[0]); workload && len(after) == 2 && inv.hasNamespace(name) {
		return nil, "", fmt.Errorf("%q: %s is a cluster and a namespace: write %s/%s/%s for the namespace, or %s/%s/NAMESPACE/%s for the cluster",
			text, name, after[0], name, after[1], name, after[0], after[1])
	}
	return member, strings.Join(slices.Delete(words, at, at+1), "/"), nil
}

// kindWord reports whether a text may begin with a word because it is that for a kind.
func kindWord(word string) bool {
	_, kind := kindOf(word)
	_, workload := workloadWord(word)
	return kind || workload || namespaceWord(word)
}

// clustersHint is a hint for a name of three parts whose first one is no cluster; "" for others.
func (inv *Inventory) clustersHint(text string) string {
	word, _, _ := strings.Cut(text, "/")
	if strings.Count(text, "/") != 2 || kindWord(word) || inv.hasNamespace(word) || inv.set.members[word] != nil {
		return ""
	}
	if !inv.set.several() {
		return fmt.Sprintf("; %s is no cluster: there is one cluster only", word)
	}
	return fmt.Sprintf("; %s is no cluster: there are %s", word, joinAnd(slices.Sorted(maps.Keys(inv.set.members))))
}

// holders lists the clusters whose policies may select a party: that of its pod, those of the pods with its address, or the
// inventory's own.
func (inv *Inventory) holders(p intent.Party) []*Inventory {
	if !inv.set.several() {
		return []*Inventory{inv}
	}
	if p.Key != (object.Key{}) {
		if member := inv.set.members[p.Key.Cluster]; member != nil {
			return []*Inventory{member}
		}
		return []*Inventory{inv}
	}
	var out []*Inventory
	for _, e := range inv.byAddr[p.Addr] {
		if member := inv.set.members[e.Key.Cluster]; member != nil && !slices.Contains(out, member) {
			out = append(out, member)
		}
	}
	if len(out) == 0 {
		return []*Inventory{inv}
	}
	return out
}

// homeOf is the inventory of the cluster in which an address is in use; nil if no pod has it, or pods of several clusters do.
func (inv *Inventory) homeOf(a netip.Addr) *Inventory {
	holders := inv.holders(intent.Party{Addr: a})
	if len(inv.byAddr[a]) == 0 || len(holders) != 1 {
		return nil
	}
	return holders[0]
}

// sideAt judges one direction by the policies of each cluster that may select the subject. One that denies decides; without
// one, what is not known keeps the verdict unknown. The decision is that of the inventory's own policies.
func (inv *Inventory) sideAt(d intent.Direction, c *connection, decision intent.Decision) *Side {
	subject, _ := c.parties(d)
	var out *Side
	for _, member := range inv.holders(subject) {
		var s *Side
		switch {
		case !member.judges:
			s = &Side{Verdict: VerdictUnknown, Note: member.undecided(d, c)}
		case member == inv:
			s = inv.side(d, c, decision)
		default:
			elsewhere := *c
			elsewhere.rows = nil // they are rows of the own cluster
			s = member.side(d, &elsewhere, member.state.Snapshot.Decide(c.Flow, d, member.policiesOf(d, subject)))
		}
		if member.state.Cluster != inv.set.own {
			s.Cluster = member.state.Cluster
		}
		if out == nil || s.Verdict.rank() < out.Verdict.rank() {
			out = s
		}
	}
	return out
}

// unknown lists why an answer is unknown.
func (a *Answer) unknown() string {
	var why []string
	add := func(sides ...*Side) {
		for _, s := range sides {
			if s != nil && s.Verdict == VerdictUnknown && !slices.Contains(why, s.Note) {
				why = append(why, s.Note)
			}
		}
	}
	for i := range a.Flows {
		f := &a.Flows[i]
		add(f.Egress, f.Ingress)
		if f.Service == nil {
			continue
		}
		for k := range f.Service.Choices {
			add(f.Service.Choices[k].Egress, f.Service.Choices[k].Ingress)
		}
	}
	return strings.Join(why, "; ")
}

// undecided describes a direction that is decided by policies that are not known.
func (inv *Inventory) undecided(d intent.Direction, c *connection) string {
	name := c.from
	if d == intent.Ingress {
		name = c.to
	}
	return fmt.Sprintf("the %s of %s is decided in cluster %s, whose policies were not read", d, name, inv.state.Cluster)
}

// rank orders the verdicts of one direction: what closes a connection comes first.
func (v Verdict) rank() int { return slices.Index([]Verdict{Deny, VerdictUnknown, Allow}, v) }

// both is the verdict of two directions together.
func both(a, b Verdict) Verdict {
	if a.rank() < b.rank() {
		return a
	}
	return b
}

// passesAt is sideAt without the reasons.
func (inv *Inventory) passesAt(d intent.Direction, c *connection, looked *int) Verdict {
	subject, _ := c.parties(d)
	out := Allow
	for _, member := range inv.holders(subject) {
		one := VerdictUnknown
		if member.judges {
			one = verdictOf(member.lets(d, c, looked))
		}
		out = both(out, one)
	}
	return out
}

// judgeOf is the inventory whose Services connections from one end to another may use: that of the source's cluster or, if
// the source is outside, that of the destination's Service.
func (inv *Inventory) judgeOf(from, to *end) (*Inventory, error) {
	at := cmp.Or(from.in, inv)
	if to.service == nil || to.in == at {
		return at, nil
	}
	if from.in == nil {
		return to.in, nil
	}
	return nil, fmt.Errorf("from %s to %s: a Service has connections of its own cluster only: use its pods", from.name, to.name)
}
