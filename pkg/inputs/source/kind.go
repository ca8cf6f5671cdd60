package source

import (
	"reflect"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"
	policyv1alpha2 "sigs.k8s.io/network-policy-api/apis/v1alpha2"

	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
)

// Object is what every delivered object implements.
type Object interface {
	runtime.Object
	metav1.Object
}

// Resource describes one kind, whatever it is read from. A new kind is a new row of Resources.
type Resource struct {
	Kind       string
	Version    schema.GroupVersion
	Plural     string // its name in API paths
	Namespaced bool
	SDWAN      bool          // it is an SD-WAN resource
	Custom     bool          // a CRD defines it: an API may lack it, and the dynamic client reads it
	Metadata   bool          // only its metadata is read
	Label      string        // that selects objects; "" selects all
	New        func() Object // an empty object
	Trim       func(Object)  // drops what netloom does not use
}

// String formats r as an RBAC rule does: pods, or networkpolicies.networking.k8s.io.
func (r *Resource) String() string { return r.GroupVersionResource().GroupResource().String() }

// GroupVersionResource returns r in the terms of clients.
func (r *Resource) GroupVersionResource() schema.GroupVersionResource {
	return r.Version.WithResource(r.Plural)
}

// Ref returns the reference of o, an object of kind r.
func (r *Resource) Ref(o metav1.Object) object.Ref {
	return object.Ref{Kind: r.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Resources lists the kinds that sources deliver, and Endpoints, which are delivered as slices.
func Resources() []Resource {
	rows := []Resource{
		row(object.KindNetworkPolicy, networkingv1.SchemeGroupVersion, "networkpolicies", trimPolicy),
		row(object.KindPod, corev1.SchemeGroupVersion, "pods", trimPod),
		row(object.KindNamespace, corev1.SchemeGroupVersion, "namespaces", trimNamespace),
		row(object.KindNode, corev1.SchemeGroupVersion, "nodes", trimNode),
		row(object.KindService, corev1.SchemeGroupVersion, "services", trimService),
		row(object.KindEndpointSlice, discoveryv1.SchemeGroupVersion, "endpointslices", trimSlice),
		row(object.KindEndpoints, corev1.SchemeGroupVersion, "endpoints", trimEndpoints),
	}
	rows = append(rows, clusterPolicies()...)
	imports := row(object.KindServiceImport, schema.GroupVersion(mcsv1alpha1.GroupVersion), mcsv1alpha1.ServiceImportPluralName, trimImport)
	imports.Custom = true
	rows = append(rows, imports)
	for _, r := range v1alpha1.Resources() {
		rows = append(rows, Resource{
			Kind: r.Kind, Version: v1alpha1.GroupVersion, Plural: r.Plural, Namespaced: true, SDWAN: true, Custom: true,
			New: func() Object { return r.New() }, Trim: trimWritten,
		})
	}
	return rows
}

// clusterPolicies lists the kinds of cluster-wide policies. Their status is not kept: nothing is made from it.
func clusterPolicies() []Resource {
	v1, v2 := schema.GroupVersion(policyv1alpha1.GroupVersion), schema.GroupVersion(policyv1alpha2.GroupVersion)
	rows := []Resource{
		row(object.KindClusterNetworkPolicy, v2, "clusternetworkpolicies", func(p *policyv1alpha2.ClusterNetworkPolicy) {
			trimWritten(p)
			p.Status = policyv1alpha2.ClusterNetworkPolicyStatus{}
		}),
		row(object.KindAdminNetworkPolicy, v1, "adminnetworkpolicies", func(p *policyv1alpha1.AdminNetworkPolicy) {
			trimWritten(p)
			p.Status = policyv1alpha1.AdminNetworkPolicyStatus{}
		}),
		row(object.KindBaselineAdminNetworkPolicy, v1, "baselineadminnetworkpolicies", func(p *policyv1alpha1.BaselineAdminNetworkPolicy) {
			trimWritten(p)
			p.Status = policyv1alpha1.BaselineAdminNetworkPolicyStatus{}
		}),
	}
	for i := range rows {
		rows[i].Namespaced, rows[i].Custom = false, true
	}
	return rows
}

// QuestionResources lists further kinds, which no target enforces: they are only needed to answer questions. A source of an
// API delivers them only with Options.Questions.
func QuestionResources() []Resource {
	r := row(object.KindEgressFirewall, ovnkubernetes.GroupVersion, "egressfirewalls", func(f *ovnkubernetes.EgressFirewall) {
		trimWritten(f)
		f.Status = ovnkubernetes.EgressFirewallStatus{}
	})
	r.Custom = true
	return []Resource{r}
}

// ReviewResources lists further kinds, needed to answer admission reviews. A source delivers them only if Options.Kinds
// names them.
func ReviewResources() []Resource {
	rows := []Resource{
		row("RoleBinding", rbacv1.SchemeGroupVersion, "rolebindings", func(b *rbacv1.RoleBinding) { b.ObjectMeta = trimMeta(&b.ObjectMeta) }),
		row("ClusterRoleBinding", rbacv1.SchemeGroupVersion, "clusterrolebindings", func(b *rbacv1.ClusterRoleBinding) { b.ObjectMeta = trimMeta(&b.ObjectMeta) }),
	}
	for _, r := range []Resource{
		{Kind: "Role", Version: rbacv1.SchemeGroupVersion, Plural: "roles"},
		{Kind: "ClusterRole", Version: rbacv1.SchemeGroupVersion, Plural: "clusterroles"},
		{Kind: "Deployment", Version: appsv1.SchemeGroupVersion, Plural: "deployments", Label: v1alpha1.LabelPurpose},
		{Kind: "StatefulSet", Version: appsv1.SchemeGroupVersion, Plural: "statefulsets", Label: v1alpha1.LabelPurpose},
		{Kind: "DaemonSet", Version: appsv1.SchemeGroupVersion, Plural: "daemonsets", Label: v1alpha1.LabelPurpose},
	} {
		r.Metadata, r.Namespaced, r.Trim = true, r.Kind != "ClusterRole", trimWritten
		r.New = func() Object { return &metav1.PartialObjectMetadata{} }
		rows = append(rows, r)
	}
	return rows
}

// row returns the row of a kind whose objects are of the type that T points to.
func row[T Object](kind string, version schema.GroupVersion, plural string, trim func(T)) Resource {
	of := reflect.TypeFor[T]().Elem()
	return Resource{
		Kind: kind, Version: version, Plural: plural, Namespaced: kind != object.KindNamespace && kind != object.KindNode && kind != "ClusterRoleBinding",
		New: func() Object { return reflect.New(of).Interface().(T) }, //nolint:forcetypeassert // it is one
		Trim: func(o Object) {
			if t, ok := o.(T); ok {
				trim(t)
			}
		},
	}
}

// ResourceOf finds the row of a kind.
func ResourceOf(kind string) (Resource, bool) {
	rows := slices.Concat(Resources(), QuestionResources(), ReviewResources())
	at := slices.IndexFunc(rows, func(r Resource) bool { return r.Kind == kind })
	if at < 0 {
		return Resource{}, false
	}
	return rows[at], true
}

// IsSDWAN reports whether a kind is an SD-WAN resource.
func IsSDWAN(kind string) bool {
	_, ok := v1alpha1.ResourceOfKind(kind)
	return ok
}

// Equal reports whether two trimmed objects differ in nothing but their resource version and generation.
func Equal(a, b Object) bool {
	if a == b {
		return true
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	if a.GetResourceVersion() != b.GetResourceVersion() || a.GetGeneration() != b.GetGeneration() {
		// The objects are shared: blank the fields of a copy. Trimmed objects are small.
		c, ok := b.DeepCopyObject().(Object)
		if !ok {
			return false
		}
		c.SetResourceVersion(a.GetResourceVersion())
		c.SetGeneration(a.GetGeneration())
		b = c
	}
	return reflect.DeepEqual(a, b)
}
