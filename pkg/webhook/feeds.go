package webhook

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/webhook/bucket"
	"github.com/netloom/netloom/pkg/webhook/consistency"
)

// roleFeeds keep who may write which bucket. Of roles only the annotations are read.
func (s *Server) roleFeeds(c Clients) []*feed {
	var feeds []*feed
	for resource, kind := range map[string]string{"roles": "Role", "clusterroles": "ClusterRole"} {
		feeds = append(feeds, &feed{
			resource: resource, kind: kind,
			reads: objectsOf(c.Metadata.Resource(rbacv1.SchemeGroupVersion.WithResource(resource)), c.Metadata, &metav1.PartialObjectMetadata{}, ""),
			trim:  trimRole,
			put: func(o metav1.Object) {
				if err := s.grants.PutRole(o.GetNamespace(), o.GetName(), o.GetAnnotations()); err != nil {
					s.log.WithError(err).WithField("role", kind+" "+o.GetNamespace()+"/"+o.GetName()).Warn("a role grants no bucket")
				}
			},
			remove: s.grants.RemoveRole,
		})
	}
	bindings := &feed{
		resource: "rolebindings", kind: "RoleBinding",
		reads: objectsOf(c.Kubernetes.RbacV1().RoleBindings(""), c.Kubernetes, &rbacv1.RoleBinding{}, ""),
		put: func(o metav1.Object) {
			if b, ok := o.(*rbacv1.RoleBinding); ok {
				s.grants.PutBinding(b.Namespace, b.Name, b.RoleRef, b.Subjects)
			}
		},
		remove: s.grants.RemoveBinding,
	}
	clusterBindings := &feed{
		resource: "clusterrolebindings", kind: "ClusterRoleBinding",
		reads: objectsOf(c.Kubernetes.RbacV1().ClusterRoleBindings(), c.Kubernetes, &rbacv1.ClusterRoleBinding{}, ""),
		put: func(o metav1.Object) {
			if b, ok := o.(*rbacv1.ClusterRoleBinding); ok {
				s.grants.PutBinding("", b.Name, b.RoleRef, b.Subjects)
			}
		},
		remove: s.grants.RemoveBinding,
	}
	return append(feeds, bindings, clusterBindings)
}

// objectFeeds keep the SD-WAN objects that others refer to.
func (s *Server) objectFeeds(c Clients) []*feed {
	var feeds []*feed
	for _, kind := range consistency.Kinds() {
		r, _ := v1alpha1.ResourceOfKind(kind)
		feeds = append(feeds, &feed{
			resource: r.Plural, kind: kind, optional: true,
			reads: objectsOf(c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource(r.Plural)), c.Dynamic, &unstructured.Unstructured{}, ""),
			trim:  s.typed,
			put:   func(o metav1.Object) { s.index.Put(kind, o) },
			remove: func(namespace, name string) {
				s.index.Remove(object.Ref{Kind: kind, Namespace: namespace, Name: name})
			},
		})
	}
	return feeds
}

// workloadFeeds keep the workloads that are CNFs. Only their metadata is read.
func (s *Server) workloadFeeds(c Clients) []*feed {
	var feeds []*feed
	for resource, kind := range map[string]string{"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"} {
		of := c.Metadata.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource})
		feeds = append(feeds, &feed{
			resource: resource, kind: kind,
			reads: objectsOf(of, c.Metadata, &metav1.PartialObjectMetadata{}, v1alpha1.LabelPurpose),
			put:   func(o metav1.Object) { s.index.PutWorkload(kind, o) },
			remove: func(namespace, name string) {
				s.index.Remove(object.Ref{Kind: kind, Namespace: namespace, Name: name})
			},
		})
	}
	return feeds
}

// podFeeds keep what NetworkPolicies select.
func (s *Server) podFeeds(c Clients) []*feed {
	put := func(o metav1.Object) {
		if err := s.adviser.Put(o); err != nil {
			s.log.WithError(err).Error("the adviser takes pods and namespaces")
		}
	}
	remove := func(kind string) func(string, string) {
		return func(namespace, name string) { s.adviser.Remove(kind, namespace, name) }
	}
	return []*feed{
		{
			resource: "pods", kind: "Pod", trim: trimPod, put: put, remove: remove("Pod"),
			reads: objectsOf(c.Kubernetes.CoreV1().Pods(""), c.Kubernetes, &corev1.Pod{}, ""),
		},
		{
			resource: "namespaces", kind: "Namespace", put: put, remove: remove("Namespace"),
			reads: objectsOf(c.Kubernetes.CoreV1().Namespaces(), c.Kubernetes, &corev1.Namespace{}, ""),
		},
	}
}

// trimRole keeps the one annotation that counts.
func trimRole(o any) (any, error) {
	if r, ok := o.(*metav1.PartialObjectMetadata); ok {
		annotations := map[string]string{}
		if text, ok := r.Annotations[bucket.Annotation]; ok {
			annotations[bucket.Annotation] = text
		}
		r.ObjectMeta = metav1.ObjectMeta{
			Namespace: r.Namespace, Name: r.Name, UID: r.UID, ResourceVersion: r.ResourceVersion, Annotations: annotations,
		}
	}
	return o, nil
}

// trimPod keeps what the translator looks at.
func trimPod(o any) (any, error) {
	if p, ok := o.(*corev1.Pod); ok {
		p.ObjectMeta = metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Labels: p.Labels,
		}
		containers := func(all []corev1.Container) []corev1.Container {
			kept := make([]corev1.Container, len(all))
			for i := range all {
				kept[i] = corev1.Container{Name: all[i].Name, Ports: all[i].Ports, RestartPolicy: all[i].RestartPolicy}
			}
			return kept
		}
		p.Spec = corev1.PodSpec{
			NodeName: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork,
			Containers: containers(p.Spec.Containers), InitContainers: containers(p.Spec.InitContainers),
		}
		p.Status = corev1.PodStatus{Phase: p.Status.Phase, PodIP: p.Status.PodIP, PodIPs: p.Status.PodIPs}
	}
	return o, nil
}

// typed makes an SD-WAN object of its own type of what the API delivers. Secrets that stand in it are not kept.
func (s *Server) typed(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	u.SetManagedFields(nil)
	t, err := s.scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	switch p := t.(type) {
	case *v1alpha1.IpsecSite:
		p.Spec.PreSharedKey, p.Spec.LocalPrivateCert = "", ""
	case *v1alpha1.IpsecHost:
		p.Spec.PreSharedKey, p.Spec.LocalPrivateCert = "", ""
	}
	return t, nil
}
