package tungsten

import (
	"maps"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/tungsten"
)

// model is what the target has, as of the last plan that was applied completely.
type model struct {
	snapshot  *intent.Snapshot
	rendering *rendering
	objects   map[string]*tungsten.Object // those of rendering, and what is kept
	ports     *ports
	tags      wanted
	selected  map[object.Key]bool // endpoints with an address that policies govern, as of the last plan
	// balancers are the objects of load balancers, by UUID; they depend on addresses.
	balancers map[string]*tungsten.Object
	addresses *addresses
	missing   string // why there are none
	unserved  []backends.Skip
}

// of returns an object of the owner that a model has; nil if it has none with this UUID.
func (m *model) of(id string) *tungsten.Object {
	if o := m.objects[id]; o != nil {
		return o
	}
	return m.balancers[id]
}

// keep adds objects that the target has as well.
func (m *model) keep(left map[string]*tungsten.Object) {
	if len(left) > 0 {
		m.objects = maps.Clone(m.objects)
		maps.Copy(m.objects, left)
	}
}

// pending is the effect of the last plan.
type pending struct {
	plan   *backends.Plan
	commit func()
	// again makes the same plan for a target that has some tags more, with what is known of the target by now.
	again func(p *backends.Plan, created []*tungsten.Object) error
	made  *comparison
	// closesFirst is whether the plan may drop for a moment what both states allow.
	closesFirst bool
}
