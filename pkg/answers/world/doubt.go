package world

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// shownDoubts is how many names a doubt lists.
const shownDoubts = 3

// Doubts lists why answers about the whole state are incomplete, one line each; none if they are complete. Without pods there is nothing
// to judge; what cannot be read, or has no address, may allow or deny anything.
func (s *State) Doubts() []string {
	return s.doubts(func(c concern) bool { return c.open == nil || c.open.wide() })
}

// DoubtsOn lists why an answer about connections between some ends is not certain, as Doubts does: only what could change that answer
// counts. A policy that cannot be read may decide on the pods of its namespace and no others; a pod without an address takes part in no
// connection of others.
func (w *World) DoubtsOn(ends ...*End) []string {
	known := w.doubting()
	if !known.any {
		return nil
	}
	of := make([]involved, len(ends))
	key := make([]string, len(ends))
	for i, e := range ends {
		of[i] = w.involved(e, known)
		key[i] = of[i].key()
	}
	signature := strings.Join(key, " ")
	if found, ok := known.found.Load(signature); ok {
		return found.([]string) //nolint:forcetypeassert // what is stored below
	}
	out := w.State.doubts(func(c concern) bool {
		if c.open != nil {
			return c.open.about(of)
		}
		return slices.ContainsFunc(of, func(i involved) bool { return c.about(&i) })
	})
	known.found.Store(signature, out)
	return out
}

// doubting is what DoubtsOn looks up. It is made once, for the first question.
type doubting struct {
	any       bool                      // there are doubts at all
	pods      map[string]bool           // those that doubts are about, namespace/name
	vips      map[netip.Addr][]string   // the namespaces of the Services with an address
	frontends map[netip.Addr][]frontend // if networks leave anything open
	found     sync.Map                  // the doubts, by what is involved
}

// frontend is an address of a Service for networks.
type frontend struct {
	other    Other
	backends []object.Key // the pods behind it
}

func newDoubting(w *World) *doubting {
	out := &doubting{pods: map[string]bool{}, vips: map[netip.Addr][]string{}, frontends: map[netip.Addr][]frontend{}}
	out.any = len(w.State.doubts(func(concern) bool { return true })) > 0
	if !out.any {
		return out
	}
	w.State.doubts(func(c concern) bool {
		if c.pod != "" {
			out.pods[c.pod] = true
		}
		return false
	})
	open := w.State.Networks != nil && len(w.State.Networks.Open) > 0
	for _, list := range w.balancers {
		for _, lb := range list {
			for i := range lb.Frontends {
				a, namespace := lb.Frontends[i].Addr, lb.Origin.Namespace
				if !slices.Contains(out.vips[a], namespace) {
					out.vips[a] = append(out.vips[a], namespace)
				}
				if open {
					out.frontends[a] = append(out.frontends[a], w.frontend(&lb.Frontends[i]))
				}
			}
		}
	}
	return out
}

func (w *World) frontend(f *intent.Frontend) frontend {
	out := frontend{other: OtherVIP}
	if f.Kind == intent.ClusterAddress {
		out.other = OtherService
	}
	for i := range f.Backends {
		pods := w.byAddr[f.Backends[i].Addr]
		if len(pods) == 0 {
			out.other |= OtherHosts
		}
		for _, p := range pods {
			out.backends = append(out.backends, p.Key)
		}
	}
	return out
}

// concern is which connections a doubt is about. The zero value is every one.
type concern struct {
	nothing   bool   // it is about no connection, but about other things
	namespace string // only those of pods in it
	services  bool   // of these, only those that a Service balances
	pod       string // only those of one pod, namespace/name
	cluster   string // only those of pods of another cluster
	open      *Open  // only those that it is about
}

// involved is what takes part in a connection at one end.
type involved struct {
	cluster    string
	namespaces []string // of the pods and Services that it names or whose address it is
	service    bool
	pod        string // namespace/name; "" if it is no single pod, or one that no doubt is about
	networks   []string
	other      Other // without what depends on the first end
}

func (i *involved) key() string {
	return fmt.Sprint(i.cluster, "|", strings.Join(i.namespaces, ","), "|", i.service, "|", i.pod, "|", strings.Join(i.networks, ","), "|", i.other)
}

func (w *World) involved(e *End, known *doubting) involved {
	out := involved{cluster: e.Cluster()}
	switch {
	case e.Service != nil:
		out.service = true
		out.namespaces = []string{e.Service.Balancer.Origin.Namespace}
	case e.Key != (object.Key{}):
		out.namespaces = []string{e.Key.Namespace}
		if full := e.Key.Namespace + "/" + e.Key.Name; known.pods[full] {
			out.pod = full
		}
	case e.Kind == name.Address:
		for _, a := range e.Addrs {
			for _, p := range w.byAddr[a] {
				out.namespaces = append(out.namespaces, p.Key.Namespace)
			}
			if of := known.vips[a]; len(of) > 0 {
				out.service, out.namespaces = true, append(out.namespaces, of...)
			}
		}
	}
	w.place(e, &out)
	return out
}

// about reports whether a doubt is about the connections of one end.
func (c *concern) about(i *involved) bool {
	switch {
	case c.nothing:
		return false
	case c.cluster != "":
		return i.cluster == c.cluster
	case c.pod != "":
		namespace, _, _ := strings.Cut(c.pod, "/")
		return i.pod == c.pod || i.service && slices.Contains(i.namespaces, namespace)
	case c.namespace != "":
		return (i.service || !c.services) && slices.Contains(i.namespaces, c.namespace)
	default:
		return true
	}
}

// concernOf is which connections a problem of an object is about.
func concernOf(ref object.Ref) concern {
	switch ref.Kind {
	case object.KindNetworkPolicy, object.KindEgressFirewall:
		return concern{namespace: ref.Namespace}
	case object.KindService, object.KindEndpoints, object.KindEndpointSlice, object.KindServiceImport:
		return concern{namespace: ref.Namespace, services: true}
	case object.KindPod:
		return concern{pod: ref.NamespacedName()}
	}
	_, device := v1alpha1.ResourceOfKind(ref.Kind)
	return concern{nothing: device}
}

// doubts lists the doubts that are about certain connections.
func (s *State) doubts(about func(concern) bool) []string {
	var out []string
	problems := 0
	for i := range s.Problems {
		if about(concernOf(s.Problems[i].Ref)) {
			problems++
		}
	}
	if problems > 0 {
		out = append(out, counted(problems, "problem"))
	}
	if s.Reading != nil {
		out = append(out, s.Reading.doubts(s.Networks != nil, about)...)
	}
	if s.Networks != nil {
		for i := range s.Networks.Open {
			if o := &s.Networks.Open[i]; about(o.concern()) && !slices.Contains(out, o.Text) {
				out = append(out, o.Text)
			}
		}
	}
	if unread := s.unread(); len(unread) > 0 && about(concern{}) {
		out = append(out, "may decide on connections, and could not be read: "+firstOf(unread))
	}
	out = append(out, s.firewallDoubts(about)...)
	if s.Reading != nil && !s.Reading.Live {
		var names []string
		for _, full := range s.Unaddressed() {
			if about(concern{pod: full}) {
				names = append(names, full)
			}
		}
		if len(names) > 0 {
			out = append(out, counted(len(names), "pod")+" without an address: "+firstOf(names))
		}
	}
	if s.Unread != "" && about(concern{}) {
		out = append(out, s.Unread)
	}
	for i := range s.Others {
		of := &s.Others[i]
		for _, d := range of.doubts(func(c concern) bool { return about(c.in(of)) }) {
			out = append(out, "cluster "+of.Cluster+": "+d)
		}
	}
	return out
}

// in is the concern of a doubt about another cluster. It is not known what matches pods that were not read.
func (c concern) in(of *State) concern {
	if of.Unread != "" || c == (concern{}) || c.nothing || c.open != nil {
		return c
	}
	return concern{cluster: of.Cluster}
}

// Doubts lists what was left out of a reading and may decide on connections; nothing for nil.
func (r *Reading) Doubts() []string {
	if r == nil {
		return nil
	}
	return r.doubts(false, func(concern) bool { return true })
}

// doubts lists what was left out of a reading. Networks may have been evaluated.
func (r *Reading) doubts(networks bool, about func(concern) bool) []string {
	var out []string
	if about(concern{}) {
		for _, what := range r.Empty {
			out = append(out, "no object was read from "+what)
		}
	}
	if len(r.Unlisted) > 0 && about(concern{}) {
		out = append(out, "may decide on connections, and could not be listed: "+firstOf(r.Unlisted))
	}
	of := map[string]int{}
	for i := range r.Foreign {
		if r.Foreign[i].network && networks {
			continue
		}
		if slices.ContainsFunc(r.Foreign[i].concerns(), about) {
			of[r.Foreign[i].Kind]++
		}
	}
	if len(of) > 0 {
		out = append(out, "ignored, although they decide on connections: "+countsText(of))
	}
	return out
}

// firstOf formats the first of some names, and how many more there are.
func firstOf(names []string) string {
	text := strings.Join(names[:min(len(names), shownDoubts)], ", ")
	if more := len(names) - shownDoubts; more > 0 {
		text += fmt.Sprintf(", … (%d more)", more)
	}
	return text
}
