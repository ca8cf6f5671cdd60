package kubeapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind of objects that the server has.
type kind struct {
	schema.GroupVersionKind
	plural     string
	short      []string
	namespaced bool
}

// kinds is the table of kinds.
func kinds() []kind {
	core := func(name string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: name} }
	return []kind{
		{core("Namespace"), "namespaces", []string{"ns"}, false},
		{core("Node"), "nodes", []string{"no"}, false},
		{core("Pod"), "pods", []string{"po"}, true},
		{core("Service"), "services", []string{"svc"}, true},
		{schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, "networkpolicies", []string{"netpol"}, true},
	}
}

// kindOf finds a kind; nil if the server does not have it.
func kindOf(which func(k *kind) bool) *kind {
	for _, k := range kinds() {
		if which(&k) {
			return &k
		}
	}
	return nil
}

// discovery answers requests for what the server has; nil if the path is not one of them.
func discovery(path string) any {
	switch path {
	case "/version":
		return map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.0-simulated", "platform": "simulated"}
	case "/api":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}}
	case "/apis":
		version := metav1.GroupVersionForDiscovery{GroupVersion: "networking.k8s.io/v1", Version: "v1"}
		return &metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups:   []metav1.APIGroup{{Name: "networking.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}},
		}
	}
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, k := range kinds() {
		if prefix(&k) != path {
			continue
		}
		list.GroupVersion = k.GroupVersion().String()
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.plural, SingularName: strings.ToLower(k.Kind), Kind: k.Kind, Namespaced: k.namespaced, ShortNames: k.short,
			Verbs: metav1.Verbs{"get", "list", "watch"},
		})
	}
	if len(list.APIResources) == 0 {
		return nil
	}
	return list
}

// prefix is the path below which the objects of a kind are.
func prefix(k *kind) string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.Group + "/" + k.Version
}
