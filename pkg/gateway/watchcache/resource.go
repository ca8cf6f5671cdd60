package watchcache

import (
	"encoding/json"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is a kind whose watches are shared.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Fields returns the fields, besides metadata.name and metadata.namespace, that field selectors may refer to, from the JSON
	// of an object. It returns the same names for every object. Nil means there are none.
	Fields func(raw []byte) (fields.Set, error)
	// Empty are the members that an object of the kind has beside kind, apiVersion and metadata if nothing is in it, each after a comma,
	// as the upstream writes them. Bookmarks have them until the upstream itself has sent one.
	Empty string
}

// Resources returns the kinds that netloom itself watches.
func Resources() []Resource {
	core := schema.GroupVersion{Version: "v1"}
	row := func(gv schema.GroupVersion, plural, kind string, namespaced bool, fields func([]byte) (fields.Set, error), empty string) Resource {
		return Resource{GroupVersionResource: gv.WithResource(plural), Kind: kind, Namespaced: namespaced, Fields: fields, Empty: empty}
	}
	policies := func(version string) schema.GroupVersion {
		return schema.GroupVersion{Group: "policy.networking.k8s.io", Version: version}
	}
	return []Resource{
		row(core, "pods", "Pod", true, podFields, `,"spec":{"containers":null},"status":{}`),
		row(core, "namespaces", "Namespace", false, namespaceFields, `,"spec":{},"status":{}`),
		row(core, "nodes", "Node", false, nodeFields, emptyNode),
		row(core, "services", "Service", true, serviceFields, `,"spec":{},"status":{"loadBalancer":{}}`),
		row(schema.GroupVersion{Group: "discovery.k8s.io", Version: "v1"}, "endpointslices", "EndpointSlice", true, nil, `,"addressType":"","endpoints":null,"ports":null`),
		row(schema.GroupVersion{Group: "networking.k8s.io", Version: "v1"}, "networkpolicies", "NetworkPolicy", true, nil, `,"spec":{"podSelector":{}}`),
		row(policies("v1alpha2"), "clusternetworkpolicies", "ClusterNetworkPolicy", false, nil, ""),
		row(policies("v1alpha1"), "adminnetworkpolicies", "AdminNetworkPolicy", false, nil, ""),
		row(policies("v1alpha1"), "baselineadminnetworkpolicies", "BaselineAdminNetworkPolicy", false, nil, ""),
	}
}

const emptyNode = `,"spec":{},"status":{"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"machineID":"","systemUUID":"",` +
	`"bootID":"","kernelVersion":"","osImage":"","containerRuntimeVersion":"","kubeletVersion":"","kubeProxyVersion":"","operatingSystem":"",` +
	`"architecture":""}}`

// path returns the API path of a list; namespace "" means all.
func (r *Resource) path(namespace string) string {
	var b strings.Builder
	if r.Group == "" {
		b.WriteString("/api/" + r.Version)
	} else {
		b.WriteString("/apis/" + r.Group + "/" + r.Version)
	}
	if namespace != "" {
		b.WriteString("/namespaces/" + namespace)
	}
	return b.String() + "/" + r.Resource
}

// selectable reports whether a field selector may refer to a field.
func (r *Resource) selectable(field string) bool {
	switch field {
	case fieldName:
		return true
	case fieldNamespace:
		return r.Namespaced
	}
	if r.Fields == nil {
		return false
	}
	set, err := r.Fields([]byte("{}"))
	return err == nil && set.Has(field)
}

const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
	fieldNode      = "spec.nodeName"
)

func podFields(raw []byte) (fields.Set, error) {
	var p struct {
		Spec struct {
			NodeName, RestartPolicy, SchedulerName, ServiceAccountName string
			HostNetwork                                                bool
		}
		Status struct {
			Phase, NominatedNodeName string
			PodIPs                   []struct{ IP string }
		}
	}
	err := json.Unmarshal(raw, &p)
	ip := ""
	if len(p.Status.PodIPs) > 0 {
		ip = p.Status.PodIPs[0].IP
	}
	return fields.Set{
		fieldNode: p.Spec.NodeName, "spec.restartPolicy": p.Spec.RestartPolicy, "spec.schedulerName": p.Spec.SchedulerName,
		"spec.serviceAccountName": p.Spec.ServiceAccountName, "spec.hostNetwork": strconv.FormatBool(p.Spec.HostNetwork),
		"status.phase": p.Status.Phase, "status.podIP": ip, "status.nominatedNodeName": p.Status.NominatedNodeName,
	}, err
}

func namespaceFields(raw []byte) (fields.Set, error) {
	var n struct{ Status struct{ Phase string } }
	err := json.Unmarshal(raw, &n)
	return fields.Set{"status.phase": n.Status.Phase}, err
}

func nodeFields(raw []byte) (fields.Set, error) {
	var n struct{ Spec struct{ Unschedulable bool } }
	err := json.Unmarshal(raw, &n)
	return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}, err
}

func serviceFields(raw []byte) (fields.Set, error) {
	var s struct {
		Spec struct{ ClusterIP, Type string }
	}
	err := json.Unmarshal(raw, &s)
	return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": s.Spec.Type}, err
}
