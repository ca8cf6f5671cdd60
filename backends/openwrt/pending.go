package openwrt

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
)

// pending is the effect of a plan on the model, and how far it was applied.
type pending struct {
	plan  *backends.Plan
	model *model
	wrote map[string]bool // services that have to reload
	left  map[string]bool // notes that exist, whatever the model says
}

// task is the native form of an op of a plan: a step, and the effect of the plan that it is in.
type task struct {
	*compare.Step
	run *pending
}

// bind makes a plan the one that p is the effect of.
func (p *pending) bind(plan *backends.Plan) {
	p.plan = plan
	for i := range plan.Ops {
		plan.Ops[i].Native = &task{compare.StepOf(&plan.Ops[i]), p}
	}
}

func taskOf(op *backends.Op) *task {
	t, _ := op.Native.(*task)
	return t
}
