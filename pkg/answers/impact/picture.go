package impact

import (
	"fmt"
	"strings"

	"github.com/netloom/netloom/pkg/answers/picture"
	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// pod is what a picture shows of a pod.
type pod struct {
	namespace string // with the cluster before it if that is another one
	several   bool   // it is one of two that stand for the pods of a workload
}

// drawer makes a picture.
type drawer struct {
	out  picture.Picture
	pods map[string]pod // of both states, by name
	at   map[string]int // groups, by key
}

// addPods notes the pods of a state. Names are those in answers about a cluster.
func (d *drawer) addPods(s *world.State, cluster string) {
	for e := range s.View.Endpoints() {
		of := e.Key.Subject() // a group names a StatefulSet or one of its pods
		for _, k := range []object.Key{e.Key.First(), of} {
			name := world.NameIn(cluster, k)
			p := d.pods[name]
			p.namespace = strings.TrimSuffix(name, "/"+k.Name)
			p.several = p.several || e.Key != of && (k == of || e.Key.Repeats())
			d.pods[name] = p
		}
	}
}

// selectedBox is the box of pods that nothing is known of but the policy that selects them.
const selectedBox = "pods that are not known"

// Picture is the differences between two states, of which r is the report, as arrows: what is opened, and what is closed.
func (r *Report) Picture(before, after *world.State) *picture.Picture {
	d := &drawer{out: picture.Picture{Title: "Connections that a change opens and closes"}, pods: map[string]pod{}, at: map[string]int{}}
	d.addPods(before, after.Cluster)
	d.addPods(after, after.Cluster)
	for _, e := range r.All() {
		link := picture.Link{From: d.group(&e.From), To: d.group(&e.To)}
		family := ""
		if e.Family != "" && !e.Outward() {
			family = e.Family + ": "
		}
		if e.Opened != "" {
			link.Kind, link.Text = picture.Opened, "+ "+family+e.Opened
			d.out.Links = append(d.out.Links, link)
		}
		if e.Closed != "" {
			link.Kind, link.Text = picture.Closed, "- "+family+e.Closed
			d.out.Links = append(d.out.Links, link)
		}
	}
	return &d.out
}

// group is the index of a group of ends.
func (d *drawer) group(g *reach.Group) int {
	n, known := d.at[g.Key()]
	if known {
		return n
	}
	n = len(d.out.Groups)
	out := picture.Group{Name: fmt.Sprintf("group %d (%d pods)", n+1, len(g.Pods))}
	for _, name := range g.Pods {
		of := d.pods[name]
		out.Members = append(out.Members, picture.Member{
			Box: of.namespace, Label: strings.TrimPrefix(name, of.namespace+"/"), Title: name, Several: of.several,
		})
	}
	if len(g.Outside) > 0 {
		out.Members = append(out.Members, picture.Outside(g.Outside))
	}
	if text := g.SelectedText(); text != "" {
		out.Members = append(out.Members, picture.Member{Box: selectedBox, Label: text, Title: text, Several: true})
	}
	d.at[g.Key()], d.out.Groups = n, append(d.out.Groups, out)
	return n
}
