package policy

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/target/state"
	"github.com/netloom/netloom/pkg/object"
)

// event creates an Event for a policy or a Service.
func (c *Controller) event(key object.Ref, uid string, n state.Note) {
	of := &corev1.ObjectReference{
		APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: key.Kind, Namespace: key.Namespace, Name: key.Name,
		UID: types.UID(uid),
	}
	if version, ok := clusterVersions()[key.Kind]; ok {
		of.APIVersion = version.GroupVersion().String()
	}
	if key.Kind == object.KindService {
		of.APIVersion = corev1.SchemeGroupVersion.String()
	}
	feedback.Record(c.opts.Events, of, n)
}
