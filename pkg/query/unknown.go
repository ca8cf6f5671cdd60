package query

import "github.com/netloom/netloom/pkg/intent"

// Unknown says of what a snapshot knows nothing because it could not be read, a line each, and what that does to answers.
func Unknown(s *intent.Snapshot) []string {
	var out []string
	if s.Unknown().Has(intent.AreaBalancers) {
		out = append(out, "services cannot be read: what is said of their addresses may be wrong, and targets keep the load"+
			" balancers that they have")
	}
	if s.Unknown().Has(intent.AreaEdges) {
		out = append(out, "SD-WAN objects cannot be read: nothing is said of what gateways shall hold, and they keep what they"+
			" have")
	}
	return out
}
