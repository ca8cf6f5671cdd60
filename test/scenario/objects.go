package scenario

import (
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/object"
)

// put writes an object as a manifest.
func (st *stage) put(ref object.Ref, object any) error {
	manifest, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	st.objects[ref] = manifest
	return nil
}

func (st *stage) putNamespace(name string, words []string) error {
	n := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: object.KindNamespace},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
	}
	for _, w := range words {
		if !relabel(n.Labels, w) {
			return fmt.Errorf("%q: expected a label", w)
		}
	}
	st.namespaces[name] = n
	return st.put(object.Ref{Kind: object.KindNamespace, Name: name}, n)
}

func (st *stage) putNode(name string, words []string) error {
	n := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: object.KindNode},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
	}
	for _, w := range words {
		if zone, ok := strings.CutPrefix(w, "zone="); ok {
			n.Labels[corev1.LabelTopologyZone] = zone
			continue
		}
		if !strings.HasPrefix(w, "external=") && relabel(n.Labels, w) {
			continue
		}
		a := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: w}
		if external, ok := strings.CutPrefix(w, "external="); ok {
			a = corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: external}
		}
		if _, err := netip.ParseAddr(a.Address); err != nil {
			return err
		}
		n.Status.Addresses = append(n.Status.Addresses, a)
	}
	return st.put(object.Ref{Kind: object.KindNode, Name: name}, n)
}

func (st *stage) putPod(fullName string, words []string) error {
	ns, name, ok := strings.Cut(fullName, "/")
	if !ok {
		return fmt.Errorf("expected namespace/name")
	}
	p := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: object.KindPod},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, w := range words {
		if err := describe(p, w); err != nil {
			return err
		}
	}
	if p.Status.Phase == "" {
		p.Status.Phase = corev1.PodPending
		if p.Status.PodIP != "" {
			p.Status.Phase = corev1.PodRunning
		}
	}
	return st.keepPod(p)
}

func (st *stage) keepPod(p *corev1.Pod) error {
	st.pods[p.Namespace+"/"+p.Name] = p
	return st.put(object.Ref{Kind: object.KindPod, Namespace: p.Namespace, Name: p.Name}, p)
}

// describe applies one word to a pod.
func describe(p *corev1.Pod, word string) error {
	if a, err := netip.ParseAddr(word); err == nil {
		address(p, a)
		return nil
	}
	switch corev1.PodPhase(word) {
	case corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, corev1.PodUnknown:
		p.Status.Phase = corev1.PodPhase(word)
		return nil
	}
	if node, ok := strings.CutPrefix(word, "@"); ok {
		p.Spec.NodeName = node
		return nil
	}
	if port, ok := strings.CutPrefix(word, ":"); ok {
		return declare(p, port)
	}
	if word == "terminating" {
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1_700_000_000, 0).UTC()}
		return nil
	}
	if word == "hostnetwork" {
		p.Spec.HostNetwork = true
		return nil
	}
	if !relabel(p.Labels, word) {
		return fmt.Errorf("%q says nothing about a pod", word)
	}
	return nil
}

func address(p *corev1.Pod, a netip.Addr) {
	if p.Status.PodIP == "" {
		p.Status.PodIP = a.String()
	}
	p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: a.String()})
}

// declare adds a port to a pod's container: NAME=NUMBER/PROTOCOL.
func declare(p *corev1.Pod, port string) error {
	name, rest, _ := strings.Cut(port, "=")
	number, protocol, ok := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return fmt.Errorf("%q: expected NAME=NUMBER/PROTOCOL", port)
	}
	c := &p.Spec.Containers[0]
	c.Ports = append(c.Ports, corev1.ContainerPort{
		Name: name, ContainerPort: int32(n), Protocol: corev1.Protocol(strings.ToUpper(protocol)),
	})
	return nil
}

// relabel applies KEY=VALUE or KEY- to labels; it returns false for any other word.
func relabel(labels map[string]string, word string) bool {
	if k, v, ok := strings.Cut(word, "="); ok {
		labels[k] = v
		return true
	}
	k, ok := strings.CutSuffix(word, "-")
	delete(labels, k)
	return ok
}

func (st *stage) label(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("expected pod or namespace, a name and labels")
	}
	var labels map[string]string
	var keep func() error
	switch {
	case args[0] == "pod" && st.pods[args[1]] != nil:
		p := st.pods[args[1]].DeepCopy()
		labels, keep = p.Labels, func() error { return st.keepPod(p) }
	case args[0] == "namespace" && st.namespaces[args[1]] != nil:
		n := st.namespaces[args[1]].DeepCopy()
		labels, keep = n.Labels, func() error {
			st.namespaces[args[1]] = n
			return st.put(object.Ref{Kind: object.KindNamespace, Name: args[1]}, n)
		}
	default:
		return fmt.Errorf("there is no %s %s", args[0], args[1])
	}
	before := maps.Clone(labels)
	for _, w := range args[2:] {
		if !relabel(labels, w) {
			return fmt.Errorf("%q is neither KEY=VALUE nor KEY-", w)
		}
	}
	if maps.Equal(before, labels) {
		return fmt.Errorf("that changes nothing")
	}
	return keep()
}

func (st *stage) editPod(verb, name string, words []string) error {
	p := st.pods[name].DeepCopy()
	if p == nil {
		return fmt.Errorf("there is no pod %s", name)
	}
	if verb == "finish" {
		p.Status.Phase = corev1.PodSucceeded
		if len(words) > 0 {
			p.Status.Phase = corev1.PodPhase(words[0])
		}
		return st.keepPod(p)
	}
	p.Status.PodIP, p.Status.PodIPs = "", nil
	for _, w := range words {
		a, err := netip.ParseAddr(w)
		if err != nil {
			return err
		}
		address(p, a)
	}
	p.Status.Phase = corev1.PodRunning
	return st.keepPod(p)
}

// resolve sets the answer of DNS for a name; no address means that it has none.
func (st *stage) resolve(args []string) error {
	var addrs []netip.Addr
	for _, w := range args[1:] {
		a, err := netip.ParseAddr(w)
		if err != nil {
			return err
		}
		addrs = append(addrs, a)
	}
	st.answers = maps.Clone(st.answers)
	if st.answers == nil {
		st.answers = map[string][]netip.Addr{}
	}
	st.answers[args[0]] = addrs
	return nil
}
