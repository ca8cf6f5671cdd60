package lint

import (
	"fmt"

	"github.com/netloom/netloom/backends"
)

// Costs configures how much a policy may cost. The zero value does not check it.
type Costs struct {
	// MaxFlows is how many OpenFlow flows a policy may cost a node; 0 does not check.
	MaxFlows int
	// Explainer computes the cost of a policy; nil if MaxFlows is 0.
	Explainer backends.Explainer
}

// of finds the node that a policy costs most, if that is more than allowed.
func (c Costs) of(x *translation) []Finding {
	if c.MaxFlows == 0 || len(x.policies) == 0 {
		return nil
	}
	flows := map[string]int{}
	for _, row := range c.Explainer.PolicyRows(x.snapshot, x.policies[0].Origin) {
		for node, n := range row.Flows {
			flows[node] += n
		}
	}
	node, worst := "", 0
	for name, n := range flows {
		if n > worst || n == worst && name < node {
			node, worst = name, n
		}
	}
	if worst <= c.MaxFlows {
		return nil
	}
	if node == "" {
		node = "a node"
	}
	return []Finding{newFinding(FlowCost, x.ref, "spec", fmt.Sprintf("costs %s about %d OpenFlow flows, more than %d", node, worst, c.MaxFlows))}
}
