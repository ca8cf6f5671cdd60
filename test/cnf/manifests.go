package cnf

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// object is an object of some kind, with further fields next to its metadata.
func object(version, kind, namespace, name string, more map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
	for k, v := range more {
		o.Object[k] = v
	}
	if namespace != "" {
		o.SetNamespace(namespace)
	}
	o.SetName(name)
	return o
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// manifest is the pod of r as a kubelet would report it.
func (r *replica) manifest() *unstructured.Unstructured {
	labels := map[string]string{"sdewanPurpose": r.purpose, "app": r.name}
	if !r.open {
		labels["cnf-account-secret"] = r.name + "-account"
	}
	if r.tls {
		labels["cnf-cert-secret"] = r.name + "-cert"
	}
	state := map[string]any{"running": map[string]any{"startedAt": time.Now().UTC().Format(time.RFC3339)}}
	if r.link == down {
		state = map[string]any{"terminated": map[string]any{"exitCode": int64(137)}}
	}
	o := object("v1", "Pod", r.namespace, r.pod, map[string]any{
		"spec": map[string]any{
			"nodeName":   "edge-node",
			"containers": []any{map[string]any{"name": "sdewan", "image": "integratedcloudnative/sdewan-cnf:0.5.3"}},
		},
		"status": map[string]any{
			"phase": "Running", "podIP": r.address, "podIPs": []any{map[string]any{"ip": r.address}},
			"conditions": []any{map[string]any{"type": "Ready", "status": condition(r.ready)}},
			"containerStatuses": []any{map[string]any{
				"name": "sdewan", "ready": r.ready, "started": r.link != down, "restartCount": int64(r.restarts),
				"containerID": fmt.Sprintf("containerd://%s-%s-%d", r.namespace, r.pod, r.restarts), "state": state,
				"image": "integratedcloudnative/sdewan-cnf:0.5.3", "imageID": "",
			}},
		},
	})
	o.SetAnnotations(r.annotations())
	if owner := r.owner(labels); owner != nil {
		_ = unstructured.SetNestedSlice(o.Object, []any{owner}, "metadata", "ownerReferences") // metadata is a map
	}
	o.SetLabels(labels)
	return o
}

// owner is the owner of the pod, nil for none. A Deployment owns it through a ReplicaSet.
func (r *replica) owner(labels map[string]string) map[string]any {
	owner := map[string]any{"apiVersion": "apps/v1", "kind": r.kind, "name": r.name, "uid": "uid-" + r.name, "controller": true}
	switch r.kind {
	case "Pod":
		return nil
	case "Deployment":
		const hash = "7d4b9c6f5d"
		labels["pod-template-hash"] = hash
		owner["kind"], owner["name"] = "ReplicaSet", r.name+"-"+hash
	}
	return owner
}

// annotations list the pod's networks: the first is net0, and so on.
func (r *replica) annotations() map[string]string {
	var nfn, status []string
	for i, n := range r.networks {
		nfn = append(nfn, fmt.Sprintf(`{"defaultGateway": "false", "interface": "net%d", "name": %q}`, i, n))
		status = append(status, fmt.Sprintf(`{"name": %q, "interface": "net%d", "ips": ["172.16.%d.5"]}`, r.namespace+"/"+n, i, i))
	}
	if r.status {
		return map[string]string{"k8s.v1.cni.cncf.io/network-status": "[" + strings.Join(status, ", ") + "]"}
	}
	return map[string]string{
		"k8s.v1.cni.cncf.io/networks":      `[{"name": "ovn-networkobj"}]`,
		"k8s.plugin.opnfv.org/nfn-network": `{"type": "ovn4nfv", "interface": [` + strings.Join(nfn, ", ") + `]}`,
	}
}

func condition(is bool) string {
	if is {
		return "True"
	}
	return "False"
}
