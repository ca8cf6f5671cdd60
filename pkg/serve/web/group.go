package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// Group is a row or a column of the matrix: a namespace, a class of pods in a namespace, or addresses outside.
type Group struct {
	ID    string    `json:"id"` // stays the same as long as its first pod
	Kind  GroupKind `json:"kind"`
	Title string    `json:"title"`
	Pods  int       `json:"pods,omitempty"`
	// Classes is how many classes the pods of a namespace are in.
	Classes int      `json:"classes,omitempty"`
	Labels  string   `json:"labels,omitempty"`  // that all pods of a class carry
	Example string   `json:"example,omitempty"` // an end for a query: a pod or an address
	Port    string   `json:"port,omitempty"`    // a port that the example listens on, according to its manifest
	Members []string `json:"members,omitempty"` // the first pods of a class, or prefixes outside
	More    int      `json:"moreMembers,omitempty"`

	classes []int
	held    map[int]holding   // by class
	kinds   map[string]bool   // the class lists of the pods of a namespace
	namesOf map[string]bool   // of the workloads
	common  map[string]string // labels of all pods
	prefix  []netip.Prefix    // outside
	titles  []string          // of classes outside
	first   *labelcache.Endpoint
}

// holding is the part of a class that a group has.
type holding struct {
	pods int
	last object.Key // of them
}

// GroupKind is the kind of a Group.
type GroupKind string

// The kinds of groups.
const (
	OfNamespace GroupKind = "namespace"
	OfClass     GroupKind = "class"
	OfOutside   GroupKind = "outside"
)

const (
	shownTitles = 2 // names in the title of a group
	shownNames  = 5 // members that a group lists
	shownLabels = 4
)

// axis is one side of the matrix.
type axis struct {
	namespace string          // zooms into it, or into allOutside; "" lists namespaces
	selector  labels.Selector // of pods; nil means all
}

// allOutside stands for the addresses outside, among namespaces. The brackets distinguish it from them.
const allOutside = "(outside)"

// groups lists the groups on an axis, ordered by title, outside last.
func (g *ground) groups(a axis) []*Group {
	byKey := map[string]*Group{}
	var out []*Group
	for i := range g.pods {
		p := &g.pods[i]
		if a.namespace != "" && a.namespace != p.Key.Namespace || a.selector != nil && !a.selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		key := p.Key.Namespace
		if a.namespace != "" {
			key = fmt.Sprint(p.classes)
		}
		group := byKey[key]
		if group == nil {
			group = &Group{Kind: OfNamespace, ID: p.Key.Namespace, Title: p.Key.Namespace}
			if a.namespace != "" {
				group.Kind, group.ID = OfClass, p.Key.Namespace+"/"+p.Key.Name
			}
			byKey[key] = group
			out = append(out, group)
		}
		group.add(p)
	}
	if a.selector == nil {
		out = append(out, g.outsiders(a.namespace)...)
	}
	for _, group := range out {
		group.finish()
	}
	disambiguate(out)
	slices.SortStableFunc(out, func(x, y *Group) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), strings.Compare(x.Title, y.Title), strings.Compare(x.Labels, y.Labels))
	})
	return out
}

// namespace is that of its pods; "" if it has none.
func (g *Group) namespace() string {
	if g.first == nil {
		return ""
	}
	return g.first.Key.Namespace
}

func (g *Group) rank() int {
	if g.Kind == OfOutside {
		return 1
	}
	return 0
}

// outsiders returns the addresses outside: one group among namespaces, one for each class when zoomed into.
func (g *ground) outsiders(namespace string) []*Group {
	switch namespace {
	case "":
		all := &Group{Kind: OfOutside, ID: allOutside, Title: "outside", held: map[int]holding{}}
		for _, o := range g.outside {
			all.addOutside(o)
		}
		if len(g.outside) == 0 {
			return nil
		}
		return []*Group{all}
	case allOutside:
		var out []*Group
		for _, o := range g.outside {
			one := &Group{Kind: OfOutside, ID: o.example.String(), held: map[int]holding{}}
			one.addOutside(o)
			out = append(out, one)
		}
		return out
	default:
		return nil
	}
}

func (g *Group) addOutside(o groundOutside) {
	g.classes = append(g.classes, o.class)
	g.held[o.class] = holding{}
	g.prefix, g.titles = append(g.prefix, o.prefixes...), append(g.titles, o.titles...)
	g.Example = cmp.Or(g.Example, o.example.String())
}

// add adds a pod.
func (g *Group) add(p *groundPod) {
	if g.Pods == 0 {
		g.first, g.held, g.kinds, g.namesOf = p.Endpoint, map[int]holding{}, map[string]bool{}, map[string]bool{}
		g.common = maps.Clone(p.Labels)
	}
	g.Pods++
	for _, c := range p.classes {
		if g.held[c].pods == 0 {
			g.classes = append(g.classes, c)
		}
		g.held[c] = holding{g.held[c].pods + 1, p.Key}
	}
	if g.Kind != OfClass {
		g.kinds[fmt.Sprint(p.classes)] = true
		return
	}
	g.namesOf[workloadOf(p.Key.Name)] = true
	for k, v := range g.common {
		if p.Labels[k] != v {
			delete(g.common, k)
		}
	}
	if len(g.Members) < shownNames {
		g.Members = append(g.Members, p.Key.Namespace+"/"+p.Key.Name)
	}
}

// finish describes the content of the group.
func (g *Group) finish() {
	switch g.Kind {
	case OfNamespace:
		g.Classes = len(g.kinds)
		g.Example = g.first.Key.Namespace + "/" + g.first.Key.Name
	case OfClass:
		g.Title, g.Labels = object.Few(sortedKeys(g.namesOf), shownTitles), labelsText(g.common)
		g.Example = g.first.Key.Namespace + "/" + g.first.Key.Name
		g.More = g.Pods - len(g.Members)
		if len(g.first.Ports) > 0 {
			g.Port = g.first.Ports[0].Protocol.String() + "/" + strconv.Itoa(int(g.first.Ports[0].Number))
		}
	case OfOutside:
		var texts []string
		for _, p := range g.prefix {
			texts = append(texts, p.String())
		}
		g.Members, g.More = cut(texts, shownNames)
		if g.Title == "" {
			g.Title = object.Few(g.titles, shownTitles)
		}
	}
}

// disambiguate adds the labels that differ to the titles of groups with the same title.
func disambiguate(groups []*Group) {
	same := map[string][]*Group{}
	for _, g := range groups {
		if g.Kind == OfClass {
			same[g.Title] = append(same[g.Title], g)
		}
	}
	for _, list := range same {
		if len(list) == 1 {
			continue
		}
		for _, g := range list {
			own := map[string]string{}
			for k, v := range g.common {
				if slices.ContainsFunc(list, func(o *Group) bool { return o.common[k] != v }) {
					own[k] = v
				}
			}
			if text := labelsText(own); text != "" {
				g.Title += " " + text
			} else {
				g.Title += " (" + g.first.Key.Name + ")"
			}
		}
	}
}

// The suffixes that controllers add to the names of pods: of a Deployment, of a DaemonSet or Job, of a StatefulSet.
var endings = regexp.MustCompile(`(-[bcdf-hj-np-tv-z2456789]{6,10})?-[bcdf-hj-np-tv-z2456789]{5}$|-[0-9]+$`)

// workloadOf returns a pod's name without the suffix of its controller.
func workloadOf(pod string) string {
	if short := endings.ReplaceAllString(pod, ""); short != "" {
		return short
	}
	return pod
}

// isGenerated reports whether controllers generate the value of a label, which is then useless as the name of a workload.
func isGenerated(key string) bool {
	switch key {
	case "pod-template-hash", "controller-revision-hash", "pod-template-generation", "statefulset.kubernetes.io/pod-name",
		"apps.kubernetes.io/pod-index", "batch.kubernetes.io/controller-uid", "controller-uid":
		return true
	default:
		return false
	}
}

// labelsText formats labels as key=value, at most shownLabels of them.
func labelsText(set map[string]string) string {
	var parts []string
	for k, v := range set {
		if !isGenerated(k) {
			parts = append(parts, k+"="+v)
		}
	}
	slices.Sort(parts)
	parts, _ = cut(parts, shownLabels)
	return strings.Join(parts, " ")
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
