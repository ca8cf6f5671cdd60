package daemon

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
	"github.com/netloom/netloom/pkg/retention"
)

// kept makes an Event of a NetworkPolicy or a Service that the source does not have, and for which a target keeps what it holds.
// One that netloom remembers gets its Event as any other that has a problem.
func (f *feedback) kept(k retention.KeptObject) {
	if f == nil || f.events == nil || k.Target == "" || k.Kind != report.KindNetworkPolicy && k.Kind != report.KindService {
		return
	}
	f.event(k.Ref(), told{}, report.Note{Warning: true, Reason: "Kept", Message: k.Message()})
}

// event makes an Event of a NetworkPolicy or a Service.
func (f *feedback) event(key object.Ref, is told, n report.Note) {
	of := &corev1.ObjectReference{
		APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
		UID: types.UID(is.uid),
	}
	if key.Kind == report.KindService {
		of.APIVersion = corev1.SchemeGroupVersion.String()
	}
	kind := corev1.EventTypeNormal
	if n.Warning {
		kind = corev1.EventTypeWarning
	}
	f.events.Event(of, kind, n.Reason, n.Message)
}
