package translator

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
)

// localEndpoints is the set of the label cache that holds the endpoints on the translator's own node.
const localEndpoints labelcache.SetID = "local"

// onThisNode is what titles say of sets of subjects where there is an own node. They do not name it: rows are the same on
// every node.
const onThisNode = "on this node"

// countLocal has the label cache keep the endpoints on the own node, where there is one.
func countLocal(cache *labelcache.Cache, opts Options) {
	if opts.Node != "" {
		cache.AddTerm(localEndpoints, labelcache.NewTerm(labelcache.Selection{Cluster: opts.Cluster, Node: opts.Node}))
	}
}

// isOwn says whether pods of a node are subjects of policies.
func (t *Translator) isOwn(node string) bool { return t.node == "" || node == t.node }

// own narrows a term to endpoints that are subjects.
func (t *Translator) own(term labelcache.Term) labelcache.Term {
	if t.node == "" {
		return term
	}
	return term.On(t.node)
}

// subjects is the set of the subjects that terms select.
func (t *Translator) subjects(terms []labelcache.Term) setSpec {
	return setSpec{terms: terms, local: t.node != ""}
}

// gateOf is the set without whose members a translation is not shown: where there is an own node, policies that select
// nobody there are nobody's business. Elsewhere every translation is shown.
func (t *Translator) gateOf(id intent.SetID) intent.SetID {
	if t.node == "" {
		return ""
	}
	return id
}

// endpointCount counts the endpoints that can be subjects.
func (t *Translator) endpointCount() int {
	if t.node == "" {
		return t.view.EndpointCount()
	}
	m, _ := t.view.Set(localEndpoints)
	return m.Len()
}

// missNode tells when the own node is none that anybody knows: then no pod is a subject, which is hardly what was meant.
func (t *Translator) missNode() {
	if t.node == "" {
		return
	}
	var faults problems
	if t.nodes.byName[t.node] == nil && t.endpointCount() == 0 {
		faults.of = intent.Origin{Cluster: t.cluster, Kind: KindNode, Name: t.node}
		faults.add("", "there is no such node and no pod on it, so no policy has a subject here: expected the name of a node")
	}
	t.setProblems(objectKey{kind: "own node"}, faults.list) // a key that no object has
}

func (t *Translator) isolatedTitle(id intent.SetID) string {
	title := fmt.Sprintf("every pod with a policy for %s", id[len("isolated/"):])
	if t.node != "" {
		title += ", " + onThisNode
	}
	return title
}

// show has snapshots show a translation, or not.
func (t *Translator) show(one *translation, shown bool) {
	if one.shown == shown {
		return
	}
	one.shown = shown
	by := 1
	if !shown {
		by = -1
	}
	for _, id := range one.holds {
		t.sets.show(id, by)
	}
}

// settlePolicies writes the policies of what was translated anew, and of what is shown since now or no longer. What comes
// out as it was is left alone.
func (t *Translator) settlePolicies(next *intent.Builder, changes []labelcache.Change) {
	settle := t.unsettled
	t.unsettled = map[objectKey]bool{}
	for i := range changes {
		maps.Copy(settle, t.gated[intent.SetID(changes[i].ID)])
	}
	for _, key := range slices.SortedFunc(maps.Keys(settle), objectKey.compareRank) {
		t.settlePolicy(key, next)
	}
}

func (t *Translator) settlePolicy(key objectKey, next *intent.Builder) {
	now := t.translated[key]
	wanted := map[intent.PolicyID]*intent.Policy{}
	if now != nil {
		m, _ := t.view.Set(labelcache.SetID(now.gate))
		t.show(now, now.gate == "" || m.Len() > 0)
		if now.shown {
			for _, p := range now.policies {
				wanted[p.ID] = p
			}
		}
	}
	of := intent.Origin{Cluster: t.cluster, Kind: key.kind, Namespace: key.namespace, Name: key.name}
	for _, d := range intent.Directions() {
		id := policyID(of, d)
		switch was, p := t.snapshot.Policy(id), wanted[id]; {
		case p == nil:
			next.DropPolicy(id)
		case was == nil || !reflect.DeepEqual(was, p):
			next.PutPolicy(p)
		}
	}
}
