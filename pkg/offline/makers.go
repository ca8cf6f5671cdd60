package offline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/inputs/manifest"
)

// groupArgo is the API group of Argo CD and its siblings.
const groupArgo = "argoproj.io"

// makesNothing lists the API groups, and kinds of others, whose objects are known to lead to no pods.
func makesNothing() []string {
	return []string{
		"cert-manager.io", "acme.cert-manager.io", "trust.cert-manager.io", "networking.istio.io", "security.istio.io", "telemetry.istio.io",
		"external-secrets.io", "bitnami.com", "traefik.io", "traefik.containo.us", "projectcontour.io", "kyverno.io", "cilium.io",
		"projectcalico.org", "crd.projectcalico.org", "crd.antrea.io", "k8s.ovn.org", "kubeovn.io", "k8s.cni.cncf.io", "metallb.io",
		"route.openshift.io", "security.openshift.io", "source.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io", "image.toolkit.fluxcd.io",
		"templates.gatekeeper.sh", "constraints.gatekeeper.sh", "mutations.gatekeeper.sh", "elbv2.k8s.aws", "linkerd.io", "policy.linkerd.io",
		"secrets-store.csi.x-k8s.io", "karpenter.sh", "karpenter.k8s.aws",
		"monitoring.coreos.com/ServiceMonitor", "monitoring.coreos.com/PodMonitor", "monitoring.coreos.com/Probe",
		"monitoring.coreos.com/PrometheusRule", "monitoring.coreos.com/ScrapeConfig", "monitoring.coreos.com/AlertmanagerConfig",
		groupArgo + "/AppProject", "kafka.strimzi.io/KafkaTopic", "kafka.strimzi.io/KafkaUser", "keda.sh/ScaledObject",
		"keda.sh/TriggerAuthentication", "longhorn.io/Setting",
	}
}

// mayMake reports whether objects of a kind matter to makers: those of kinds that Kubernetes does not have, unless they are known to lead to
// no pods, and roles.
func mayMake(group, kind string) bool {
	switch {
	case group == rbacv1.GroupName:
		return true
	case strings.HasSuffix(group, ".k8s.io") && !strings.HasSuffix(group, ".x-k8s.io") || scheme.Scheme.IsGroupRegistered(group):
		return false
	}
	quiet := makesNothing()
	return !slices.Contains(quiet, group) && !slices.Contains(quiet, group+"/"+kind)
}

// makers lists what may create pods that no manifest declares: objects of operators in the namespace of the pods, and service accounts that
// may create pods.
func (m *manifests) makers(opts *Manifests) *lint.Makers {
	out := &lint.Makers{}
	var rbac []manifest.Foreign
	for _, source := range m.sources {
		for _, o := range source.Foreign() {
			switch {
			case o.Group == rbacv1.GroupName:
				rbac = append(rbac, o)
			case mayMake(o.Group, o.Kind):
				namespace, name := targetOf(&o, cmp.Or(opts.Namespace, metav1.NamespaceDefault))
				out.Add(namespace, name)
			}
		}
	}
	addAccounts(out, rbac, opts)
	return out
}

// targetOf is the namespace in which an object may lead to pods, and its name. Those of deployment tools may name another one.
func targetOf(o *manifest.Foreign, usual string) (namespace, name string) {
	var is struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			TargetNamespace string                     `json:"targetNamespace"` // HelmRelease and Kustomization of Flux
			Destination     struct{ Namespace string } `json:"destination"`     // Application of Argo CD
		} `json:"spec"`
	}
	_ = json.Unmarshal(o.Content, &is) // what does not fit stays empty
	own := cmp.Or(is.Metadata.Namespace, usual)
	return cmp.Or(is.Spec.TargetNamespace, is.Spec.Destination.Namespace, own), o.Kind + "/" + own + "/" + is.Metadata.Name
}

// addAccounts adds the service accounts that may create pods, directly or by workloads: in the namespace of the binding, or for a binding
// of the whole cluster in their own, since operators leave other namespaces to objects in them.
func addAccounts(out *lint.Makers, rbac []manifest.Foreign, opts *Manifests) {
	usual := cmp.Or(opts.Namespace, metav1.NamespaceDefault)
	granting := map[string]bool{"ClusterRole//cluster-admin": true, "ClusterRole//admin": true, "ClusterRole//edit": true}
	for _, o := range rbac {
		var role rbacv1.Role // which a ClusterRole looks like
		if strings.HasSuffix(o.Kind, "Role") && json.Unmarshal(o.Content, &role) == nil && slices.ContainsFunc(role.Rules, grants) {
			namespace := ""
			if o.Kind == "Role" {
				namespace = cmp.Or(role.Namespace, usual)
			}
			granting[o.Kind+"/"+namespace+"/"+role.Name] = true
		}
	}
	for _, o := range rbac {
		var b rbacv1.RoleBinding // which a ClusterRoleBinding looks like
		if !strings.HasSuffix(o.Kind, "RoleBinding") || json.Unmarshal(o.Content, &b) != nil {
			continue
		}
		in, of := "", ""
		if o.Kind == "RoleBinding" {
			in = cmp.Or(b.Namespace, usual)
		}
		if b.RoleRef.Kind == "Role" {
			of = in
		}
		if !granting[b.RoleRef.Kind+"/"+of+"/"+b.RoleRef.Name] {
			continue
		}
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind {
				own := cmp.Or(s.Namespace, in, usual)
				out.Add(cmp.Or(in, own), s.Kind+"/"+own+"/"+s.Name)
			}
		}
	}
}

// grants reports whether a rule allows to create pods, or workloads that do.
func grants(r rbacv1.PolicyRule) bool {
	has := func(list []string, words ...string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return s == "*" || slices.Contains(words, s) })
	}
	return has(r.Verbs, "create") && has(r.APIGroups, "", "apps", "batch") &&
		has(r.Resources, "pods", "deployments", "statefulsets", "daemonsets", "replicasets", "jobs", "cronjobs")
}
