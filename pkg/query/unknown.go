package query

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
)

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

// Unknown says of what the state knows nothing: see the function of that name.
func (inv *Inventory) Unknown() []string { return Unknown(inv.state.Snapshot) }

// servicesUnknown is the note of answers that services bear on; "" where services are known.
func (inv *Inventory) servicesUnknown() string {
	if !inv.state.Snapshot.Unknown().Has(intent.AreaBalancers) {
		return ""
	}
	return "services cannot be read: whether that is an address of one is unknown"
}

// orUnknown says of an error about a service that it may come from what cannot be read.
func (inv *Inventory) orUnknown(err error) error {
	if err == nil || inv.servicesUnknown() == "" {
		return err
	}
	return fmt.Errorf("%w; services cannot be read", err)
}
