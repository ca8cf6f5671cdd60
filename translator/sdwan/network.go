package sdwan

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/translator/field"
)

// Annotations of pods with the networks of their interfaces.
const (
	// NFNAnnotation is what a pod requests from ovn4nfv:
	// {"type":"ovn4nfv","interface":[{"name":"ovn-net1","interface":"net1"}]}.
	NFNAnnotation = "k8s.plugin.opnfv.org/nfn-network"
	// NetworkStatusAnnotation is what Multus reports: [{"name":"default/net-a","interface":"net1"}].
	NetworkStatusAnnotation = "k8s.v1.cni.cncf.io/network-status"
	// networksStatusAnnotation is its name in older releases of Multus.
	networksStatusAnnotation = "k8s.v1.cni.cncf.io/networks-status"
)

// attachment is an interface of a pod, as in both annotations.
type attachment struct {
	Name      string `json:"name"`
	Interface string `json:"interface"`
}

// networksOf maps networks to interfaces; nil if there are none. Requests to ovn4nfv take precedence over reports of
// Multus, full names over short ones, networks of the pod's namespace over those of others, and the first over the rest. An
// annotation that cannot be parsed is reported and otherwise ignored.
func networksOf(pod *corev1.Pod, faults *field.Faults) map[string]string {
	out := map[string]string{}
	take := func(name, device string) {
		if _, there := out[name]; !there {
			out[name] = device
		}
	}
	for _, a := range requestedNetworks(pod, faults) {
		take(a.Name, a.Interface)
	}
	reported := reportedNetworks(pod, faults)
	for _, a := range reported {
		take(a.Name, a.Interface)
	}
	for _, own := range []bool{true, false} {
		for _, a := range reported {
			if namespace, name, long := strings.Cut(a.Name, "/"); long && name != "" && (namespace == pod.Namespace) == own {
				take(name, a.Interface)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func requestedNetworks(pod *corev1.Pod, faults *field.Faults) []attachment {
	text := pod.Annotations[NFNAnnotation]
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var asked struct {
		Interface []attachment `json:"interface"`
	}
	if err := json.Unmarshal([]byte(text), &asked); err != nil { // its text is about Go types
		faults.Add("metadata.annotations["+NFNAnnotation+"]",
			`expected JSON such as {"interface":[{"name":"net-a","interface":"net1"}]}; the annotation is ignored`)
		return nil
	}
	return named(asked.Interface)
}

func reportedNetworks(pod *corev1.Pod, faults *field.Faults) []attachment {
	key := NetworkStatusAnnotation
	if strings.TrimSpace(pod.Annotations[key]) == "" {
		key = networksStatusAnnotation
	}
	text := pod.Annotations[key]
	if strings.TrimSpace(text) == "" {
		return nil
	}
	var list []attachment
	if err := json.Unmarshal([]byte(text), &list); err != nil { // its text is about Go types
		faults.Add("metadata.annotations["+key+"]",
			`expected JSON such as [{"name":"default/net-a","interface":"net1"}]; the annotation is ignored`)
		return nil
	}
	return named(list)
}

// named leaves out attachments without a network or an interface: not all have both.
func named(list []attachment) []attachment {
	var out []attachment
	for _, a := range list {
		if a.Name != "" && a.Interface != "" {
			out = append(out, a)
		}
	}
	return out
}
