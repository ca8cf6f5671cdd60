package policygen

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/test/oracle"
)

// Objects copies the objects of a cluster, each with its kind: namespaces, nodes, pods, policies, cluster-wide policies,
// Services, slices.
func Objects(c *oracle.Cluster) []runtime.Object {
	var all []runtime.Object
	all = copied(all, c.Namespaces, corev1.SchemeGroupVersion.WithKind("Namespace"))
	all = copied(all, c.Nodes, corev1.SchemeGroupVersion.WithKind("Node"))
	all = copied(all, c.Pods, corev1.SchemeGroupVersion.WithKind("Pod"))
	all = copied(all, c.Policies, networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"))
	all = copied(all, c.ClusterPolicies, schema.GroupVersion(v1alpha2.GroupVersion).WithKind("ClusterNetworkPolicy"))
	all = copied(all, c.AdminPolicies, schema.GroupVersion(v1alpha1.GroupVersion).WithKind("AdminNetworkPolicy"))
	all = copied(all, c.BaselinePolicies, schema.GroupVersion(v1alpha1.GroupVersion).WithKind("BaselineAdminNetworkPolicy"))
	all = copied(all, c.Services, corev1.SchemeGroupVersion.WithKind("Service"))
	return copied(all, c.Slices, discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"))
}

func copied[T runtime.Object](to []runtime.Object, list []T, kind schema.GroupVersionKind) []runtime.Object {
	for _, o := range list {
		o := o.DeepCopyObject()
		o.GetObjectKind().SetGroupVersionKind(kind)
		to = append(to, o)
	}
	return to
}

// YAML prints a cluster as a stream of manifests, in the order of Objects, pods with their status.
func YAML(c *oracle.Cluster) ([]byte, error) {
	var b bytes.Buffer
	for _, o := range Objects(c) {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, fmt.Errorf("print %T: %w", o, err)
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
