package explain

import (
	"slices"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// stagedOn names the staged policies that select a pod, sorted.
func stagedOn(w *world.World, pod object.Key) []string {
	would := w.WouldBe()
	if would == nil {
		return nil
	}
	var out []string
	for _, d := range intent.Directions() {
		for _, p := range would.PoliciesOf(d, intent.Party{Key: pod}) {
			if _, staged := w.State.StagedAs(p.Origin.Ref()); staged && p.Origin.Cluster == w.State.Cluster {
				out = append(out, p.Origin.String())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
