package feedback

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/target/state"
)

// NewRecorder makes a recorder of Events for every kind of object that netloom reports on. It records in refused when it
// may not create them. The caller has to call end.
func NewRecorder(client kubernetes.Interface, refused *Refusals) (events record.EventRecorder, end func()) {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme) // neither fails
	_ = corev1.AddToScheme(scheme)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&eventSink{&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")}, refused})
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: FieldManager}), broadcaster.Shutdown
}

// Record creates an Event about an object, which may be a reference to one; nil records nothing.
func Record(events record.EventRecorder, of runtime.Object, n state.Note) {
	if events == nil {
		return
	}
	kind := corev1.EventTypeNormal
	if n.Warning {
		kind = corev1.EventTypeWarning
	}
	events.Event(of, kind, n.Reason, n.Message)
}

// eventSink records whether Events may be created.
type eventSink struct {
	record.EventSink
	refused *Refusals
}

// Create creates an Event.
func (s *eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	made, err := s.EventSink.Create(e)
	s.refused.Note("create events", err)
	return made, err
}

// Patch increments the count of an Event.
func (s *eventSink) Patch(e *corev1.Event, data []byte) (*corev1.Event, error) {
	made, err := s.EventSink.Patch(e, data)
	s.refused.Note("patch events", err)
	return made, err
}
