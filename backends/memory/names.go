package memory

import (
	"strconv"

	"github.com/netloom/netloom/pkg/intent"
)

// The kinds of rows.
const (
	kindSet       = "set"
	kindRule      = "rule"
	kindIsolation = "isolation"
	kindBalancer  = "balancer"
)

// Rows are named by the IDs of what they hold, which may be any text: the store has no limits on names.

func setName(id intent.SetID) string { return string(id) }

func ruleName(id intent.PolicyID, i int) string { return string(id) + "#" + strconv.Itoa(i) }

func isolationName(d intent.Direction) string { return d.String() }

// refusalName names the isolation that a policy has only for its log. It cannot be confused with that of a direction.
func refusalName(id intent.PolicyID) string { return "policy " + string(id) }

func balancerName(id intent.LoadBalancerID) string { return string(id) }
