package service

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"

	"github.com/netloom/netloom/pkg/object"
)

// PutImport adds or replaces a ServiceImport.
func (t *Table) PutImport(o *mcsv1alpha1.ServiceImport) {
	t.at(object.Ref{Kind: object.KindServiceImport, Namespace: o.Namespace, Name: o.Name}).object = serviceOf(o)
}

// serviceOf returns the Service that an import is equivalent to. A headless one has no address, and therefore no frontend. An unknown type
// is kept, and reported when the Service is translated.
func serviceOf(o *mcsv1alpha1.ServiceImport) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: o.Name, UID: o.UID, CreationTimestamp: o.CreationTimestamp,
			Labels: o.Labels, Annotations: o.Annotations,
		},
		Spec: corev1.ServiceSpec{
			ClusterIPs: o.Spec.IPs, SessionAffinity: o.Spec.SessionAffinity, SessionAffinityConfig: o.Spec.SessionAffinityConfig,
			InternalTrafficPolicy: o.Spec.InternalTrafficPolicy,
		},
	}
	switch o.Spec.Type {
	case mcsv1alpha1.ClusterSetIP:
	case mcsv1alpha1.Headless:
		s.Spec.ClusterIPs = nil
	default:
		s.Spec.Type = corev1.ServiceType(o.Spec.Type)
	}
	for i := range o.Spec.Ports {
		p := &o.Spec.Ports[i]
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port})
	}
	return s
}

// isDerivedFrom reports whether s is the Service that an MCS controller made for an import to get an address for it: it has the
// import's address in the import's namespace.
func (s *service) isDerivedFrom(i *service) bool {
	return i.ref.Kind == object.KindServiceImport && s.ref.Kind == object.KindService && s.ref.Namespace == i.ref.Namespace
}
