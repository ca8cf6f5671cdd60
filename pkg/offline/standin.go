package offline

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/name"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest/workload"
	"github.com/netloom/netloom/pkg/object"
)

// cluster is the objects that manifests declare, and those that stand for what a cluster would add to them: pods of workloads, addresses, and
// the endpoints of Services.
type cluster struct {
	objects   map[object.Ref]runtime.Object
	workloads []world.Workload
	made      workload.Addresses
	problems  []object.Problem

	pods       *workload.Index
	is4, is6   bool // the families of made-up addresses
	real       map[netip.Addr]bool
	hasSlices  map[object.Ref]bool // by the reference of a Service
	standIns   int
	vips       int
	namespaces map[string]bool
}

// surveyed is the objects in force.
func (m *manifests) surveyed() *cluster {
	c := &cluster{
		objects: m.objects(), pods: workload.NewIndex(), real: map[netip.Addr]bool{}, hasSlices: map[object.Ref]bool{}, namespaces: map[string]bool{},
	}
	for ref := range c.objects {
		c.survey(ref)
	}
	if !c.is4 && !c.is6 {
		c.is4 = true
	}
	return c
}

// complete adds what a cluster would add. Made-up addresses avoid those that are taken.
func (c *cluster) complete(m *manifests, taken func(netip.Addr) bool) {
	c.made.Taken = taken
	refs := slices.SortedFunc(maps.Keys(c.objects), object.Ref.Compare)
	for _, ref := range refs {
		if p, ok := c.objects[ref].(*corev1.Pod); ok {
			if m.force[ref].Bare(ref) && !p.Spec.HostNetwork {
				p = p.DeepCopy()
				c.address(p)
				c.objects[ref] = p
			}
			c.pods.Add(p)
		}
	}
	c.addWorkloads(m.workloads())
	for _, ref := range refs {
		if s, ok := c.objects[ref].(*corev1.Service); ok {
			c.serve(ref, s)
		}
	}
}

// has reports whether an address is in use.
func (c *cluster) has(a netip.Addr) bool { return c.real[a] || c.made.MadeUp(a) }

// objects are those in force.
func (m *manifests) objects() map[object.Ref]runtime.Object {
	out := make(map[object.Ref]runtime.Object, len(m.force))
	for ref, source := range m.force {
		if o, ok := source.Get(ref); ok {
			out[ref] = o
		}
	}
	return out
}

// workloads are those of all layers: a later one replaces those of the same name.
func (m *manifests) workloads() (all []*workload.Workload, problems []object.Problem) {
	at := map[object.Ref]int{}
	for _, source := range m.sources {
		seen := map[object.Ref]bool{}
		for _, w := range source.Workloads() {
			if slices.Contains(m.without, w.Ref) {
				continue
			}
			switch n, known := at[w.Ref]; {
			case seen[w.Ref]:
				problems = append(problems, object.Problem{Ref: w.Ref, Message: "declared more than once: the first, by path, is in force"})
			case known:
				all[n] = w
			default:
				at[w.Ref] = len(all)
				all = append(all, w)
			}
			seen[w.Ref] = true
		}
	}
	return all, problems
}

// survey notes what is real: addresses, families, namespaces, and which Services have slices.
func (c *cluster) survey(ref object.Ref) {
	note := func(text string) {
		if a, err := netip.ParseAddr(text); err == nil {
			c.real[a.Unmap()] = true
		}
	}
	switch o := c.objects[ref].(type) {
	case *corev1.Namespace:
		c.namespaces[o.Name] = true
	case *corev1.Pod:
		for _, ip := range o.Status.PodIPs {
			note(ip.IP)
			if a, err := netip.ParseAddr(ip.IP); err == nil {
				c.is4, c.is6 = c.is4 || a.Unmap().Is4(), c.is6 || !a.Unmap().Is4()
			}
		}
	case *corev1.Node:
		for _, a := range o.Status.Addresses {
			note(a.Address)
		}
	case *corev1.Service:
		for _, ip := range o.Spec.ClusterIPs {
			note(ip)
		}
	case *discoveryv1.EndpointSlice:
		c.hasSlices[object.Ref{Kind: object.KindService, Namespace: o.Namespace, Name: o.Labels[discoveryv1.LabelServiceName]}] = true
		for i := range o.Endpoints {
			for _, ip := range o.Endpoints[i].Addresses {
				note(ip)
			}
		}
	}
}

// address gives a pod made-up addresses.
func (c *cluster) address(p *corev1.Pod) {
	p.Status.Phase, p.Status.PodIPs = corev1.PodRunning, nil
	for _, is4 := range []bool{true, false} {
		if is4 && c.is4 || !is4 && c.is6 {
			a := c.made.Addr("pod/"+p.Namespace+"/"+p.Name, is4)
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a.String()})
		}
	}
	p.Status.PodIP = p.Status.PodIPs[0].IP
}

// addWorkloads adds pods for workloads that have none of their own and that no other workload creates.
func (c *cluster) addWorkloads(all []*workload.Workload, problems []object.Problem) {
	c.problems = append(c.problems, problems...)
	declared := map[object.Ref]bool{}
	for _, w := range all {
		declared[w.Ref] = true
	}
	slices.SortFunc(all, func(a, b *workload.Workload) int { return a.Ref.Compare(b.Ref) })
	var added []*corev1.Pod
	for _, w := range all {
		if slices.ContainsFunc(w.Owners, func(o object.Ref) bool { return declared[o] }) {
			continue
		}
		known := world.Workload{Kind: name.Kind(w.Word()), Namespace: w.Ref.Namespace, Name: w.Ref.Name, HostNetwork: w.Template.Spec.HostNetwork}
		pods := c.pods.Find(w.Ref.Namespace, w.Selector)
		if len(pods) == 0 {
			known.StandIn = true
			pods = w.StandIns()
			for _, p := range pods {
				c.add(p)
			}
			added = append(added, pods...)
		}
		for _, p := range pods {
			known.Pods = append(known.Pods, p.Name)
		}
		c.workloads = append(c.workloads, known)
	}
	for _, p := range added { // only now: workloads with overlapping selectors do not count as each other's
		c.pods.Add(p)
	}
}

// add adds a pod that stands for others, and its namespace.
func (c *cluster) add(p *corev1.Pod) {
	if !p.Spec.HostNetwork {
		c.address(p)
	}
	c.standIns++
	c.objects[object.Ref{Kind: object.KindPod, Namespace: p.Namespace, Name: p.Name}] = p
	if !c.namespaces[p.Namespace] {
		c.namespaces[p.Namespace] = true
		c.objects[object.Ref{Kind: object.KindNamespace, Name: p.Namespace}] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: p.Namespace, Labels: map[string]string{corev1.LabelMetadataName: p.Namespace},
		}}
	}
}

// serve gives a Service an address and endpoints, if it has none.
func (c *cluster) serve(ref object.Ref, s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if s.Spec.ClusterIP == "" && len(s.Spec.Ports) > 0 {
		s = s.DeepCopy()
		for _, family := range c.familiesOf(s) {
			a := c.made.Addr("svc/"+s.Namespace+"/"+s.Name, family == corev1.IPv4Protocol)
			s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, a.String())
		}
		s.Spec.ClusterIP, s.Spec.IPFamilies = s.Spec.ClusterIPs[0], c.familiesOf(s)
		c.objects[ref] = s
		c.vips++
	}
	if len(s.Spec.Selector) == 0 || c.hasSlices[ref] {
		return
	}
	for _, slice := range workload.Slices(s, c.pods.Find(s.Namespace, labels.SelectorFromSet(s.Spec.Selector))) {
		c.objects[object.Ref{Kind: object.KindEndpointSlice, Namespace: slice.Namespace, Name: slice.Name}] = slice
	}
}

// familiesOf are the families of a Service: as written, or the first one of the cluster.
func (c *cluster) familiesOf(s *corev1.Service) []corev1.IPFamily {
	switch {
	case len(s.Spec.IPFamilies) > 0:
		return s.Spec.IPFamilies
	case c.is4:
		return []corev1.IPFamily{corev1.IPv4Protocol}
	default:
		return []corev1.IPFamily{corev1.IPv6Protocol}
	}
}

// describe adds to a state what stands for what.
func (c *cluster) describe(s *world.State) {
	s.Workloads = c.workloads
	s.Problems = append(s.Problems, c.problems...)
	s.Reading.StandIns, s.Reading.VIPs = c.standIns, c.vips
	for i := range c.workloads {
		if w := &c.workloads[i]; w.HostNetwork {
			s.Reading.Hints = append(s.Reading.Hints, fmt.Sprintf("%s is on the host network: policies do not apply to its pods", w))
		}
	}
}
