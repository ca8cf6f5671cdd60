package scenario

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/object"
)

// putEndpoints sets the slices of NAMESPACE/SERVICE[/SLICE] according to the words: one for each family that has an
// endpoint among them.
func (st *stage) putEndpoints(fullName string, words []string) error {
	f := strings.Split(fullName, "/")
	if len(f) != 2 && len(f) != 3 {
		return fmt.Errorf("expected namespace/service or namespace/service/slice")
	}
	var ports []discoveryv1.EndpointPort
	made := map[discoveryv1.AddressType][]discoveryv1.Endpoint{}
	for _, w := range words {
		if port, ok := strings.CutPrefix(w, ":"); ok {
			p, err := slicePort(port)
			if err != nil {
				return err
			}
			ports = append(ports, p)
			continue
		}
		all, err := st.endpoint(w)
		if err != nil {
			return err
		}
		for _, e := range all {
			t := addressType(e)
			made[t] = append(made[t], e)
		}
	}
	for t, ref := range sliceRefs(fullName) {
		if len(made[t]) == 0 {
			delete(st.objects, ref)
			continue
		}
		e := &discoveryv1.EndpointSlice{
			TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: object.KindEndpointSlice},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ref.Namespace, Name: ref.Name, Labels: map[string]string{discoveryv1.LabelServiceName: f[1]},
			},
			AddressType: t, Endpoints: made[t], Ports: ports,
		}
		if err := st.put(ref, e); err != nil {
			return err
		}
	}
	return nil
}

// sliceRefs lists the slices that one line of endpoints defines.
func sliceRefs(fullName string) map[discoveryv1.AddressType]object.Ref {
	ns, name, _ := strings.Cut(fullName, "/")
	name = strings.ReplaceAll(name, "/", ".")
	ref := object.Ref{Kind: object.KindEndpointSlice, Namespace: ns}
	v4, v6 := ref, ref
	v4.Name, v6.Name = name+".v4", name+".v6"
	return map[discoveryv1.AddressType]object.Ref{discoveryv1.AddressTypeIPv4: v4, discoveryv1.AddressTypeIPv6: v6}
}

func addressType(e discoveryv1.Endpoint) discoveryv1.AddressType {
	if strings.Contains(e.Addresses[0], ":") {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}

// slicePort reads [NAME=]NUMBER/PROTOCOL.
func slicePort(text string) (discoveryv1.EndpointPort, error) {
	name, rest, named := strings.Cut(text, "=")
	if !named {
		name, rest = "", text
	}
	number, protocol, ok := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(number, 10, 32)
	if !ok || err != nil {
		return discoveryv1.EndpointPort{}, fmt.Errorf("%q: expected [NAME=]NUMBER/PROTOCOL", text)
	}
	port, proto := int32(n), corev1.Protocol(strings.ToUpper(protocol))
	return discoveryv1.EndpointPort{Name: &name, Protocol: &proto, Port: &port}, nil
}

// endpoint reads POD|ADDRESS[@NODE][!CONDITION][~ZONE|NODE+...]: one endpoint for each address of a pod.
func (st *stage) endpoint(word string) ([]discoveryv1.Endpoint, error) {
	word, hints, hinted := strings.Cut(word, "~")
	word, condition, conditional := strings.Cut(word, "!")
	who, node, onNode := strings.Cut(word, "@")
	var e discoveryv1.Endpoint
	yes, no := true, false
	e.Conditions.Ready = &yes
	if conditional {
		switch condition {
		case "notready":
			e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
		case "draining":
			e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}
		case "gone":
			e.Conditions = discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
		case "unknown":
			e.Conditions = discoveryv1.EndpointConditions{}
		default:
			return nil, fmt.Errorf("%q: expected notready, draining, gone or unknown", condition)
		}
	}
	if hinted {
		e.Hints = st.hints(hints)
	}
	var addrs []string
	if _, err := netip.ParseAddr(who); err == nil {
		addrs = []string{who}
	} else {
		p := st.pods[who]
		if p == nil {
			return nil, fmt.Errorf("%q is neither a pod nor an address", who)
		}
		for _, ip := range p.Status.PodIPs {
			addrs = append(addrs, ip.IP)
		}
		if !onNode {
			node = p.Spec.NodeName
		}
		e.TargetRef = &corev1.ObjectReference{Kind: object.KindPod, Namespace: p.Namespace, Name: p.Name}
	}
	if node != "" {
		e.NodeName = &node
	}
	var all []discoveryv1.Endpoint
	for _, a := range addrs {
		one := *e.DeepCopy()
		one.Addresses = []string{a}
		all = append(all, one)
	}
	return all, nil
}

// hints reads names with + between them: names of nodes are nodes, all others zones.
func (st *stage) hints(names string) *discoveryv1.EndpointHints {
	h := &discoveryv1.EndpointHints{}
	for name := range strings.SplitSeq(names, "+") {
		if st.objects[object.Ref{Kind: object.KindNode, Name: name}] != nil {
			h.ForNodes = append(h.ForNodes, discoveryv1.ForNode{Name: name})
		} else {
			h.ForZones = append(h.ForZones, discoveryv1.ForZone{Name: name})
		}
	}
	return h
}
