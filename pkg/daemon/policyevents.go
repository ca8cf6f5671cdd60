package daemon

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/report"
)

// newRecorder makes what writes Events of any object that netloom speaks of, and notes when it may not. It has to be ended.
func newRecorder(client kubernetes.Interface, refused *refusals) (events record.EventRecorder, end func()) {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme) // neither fails
	_ = corev1.AddToScheme(scheme)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&eventSink{&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}, refused})
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: fieldManager}), broadcaster.Shutdown
}

// kept makes an Event of a NetworkPolicy or a Service that the source does not have, and for which a target keeps what it holds.
// One that netloom remembers gets its Event as any other that has a problem.
func (f *feedback) kept(k KeptObject) {
	if f == nil || f.events == nil || k.Target == "" || k.Kind != report.KindNetworkPolicy && k.Kind != report.KindService {
		return
	}
	f.event(k.ref(), told{}, report.Note{Warning: true, Reason: "Kept", Message: k.message()})
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
