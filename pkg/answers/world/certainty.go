package world

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// place finds out what an end is for networks, and on which it is.
func (w *World) place(e *End, out *involved) {
	known := w.State.Networks
	if known == nil || len(known.Open) == 0 {
		return
	}
	add := func(k object.Key) {
		if k.Cluster != w.State.Cluster {
			out.other |= OtherCluster
		}
		if known.DNS[k] {
			out.other |= OtherDNS
		}
		if n := known.Of[k]; !slices.Contains(out.networks, n) {
			out.networks = append(out.networks, n)
		}
	}
	switch {
	case e.Service != nil:
		out.other |= OtherService
		for _, f := range e.Service.Frontends {
			for b := range f.Backends.All() {
				pods := w.byAddr[b.Addr]
				if len(pods) == 0 {
					out.other |= OtherHosts
				}
				for _, p := range pods {
					add(p.Key)
				}
			}
		}
	case e.Key != (object.Key{}):
		add(e.Key)
	case e.Kind == name.Address:
		w.placeAddress(e, out, add)
	default: // a node, or a pod on its network
		out.other |= OtherNode
	}
}

func (w *World) placeAddress(e *End, out *involved, add func(object.Key)) {
	for _, a := range e.Addrs {
		pods, frontends := w.byAddr[a], w.doubting().frontends[a]
		for _, p := range pods {
			add(p.Key)
		}
		for _, f := range frontends {
			out.other |= f.other
			for _, k := range f.backends {
				add(k)
			}
		}
		switch {
		case w.nodeOf[a] != "":
			out.other |= OtherNode
		case len(pods)+len(frontends) == 0:
			out.other |= OtherOutside
		}
	}
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
	for b := range f.Backends.All() {
		pods := w.byAddr[b.Addr]
		if len(pods) == 0 {
			out.other |= OtherHosts
		}
		for _, p := range pods {
			out.backends = append(out.backends, p.Key)
		}
	}
	return out
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
