package offline

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/object"
)

// LoadCreated is Load for reports about a cluster: it also returns when the policies were created, as far as they say, and leaves out the
// pods that exist only while Helm tests a chart.
func LoadCreated(opts Manifests) (world.State, map[object.Ref]metav1.Time, error) {
	m, err := readManifests(opts)
	if err != nil {
		return world.State{}, nil, err
	}
	for ref, source := range m.force {
		if ref.Kind == object.KindPod && source.ForTests(ref) {
			delete(m.force, ref)
		}
	}
	created := map[object.Ref]metav1.Time{}
	for _, kind := range judged() {
		for _, o := range m.declared(kind) {
			if t := o.GetCreationTimestamp(); !t.IsZero() {
				created[object.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = t
			}
		}
	}
	return m.state(opts), created, nil
}
