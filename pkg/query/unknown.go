package query

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
)

// Unknown says of what a snapshot knows nothing because it could not be read, a line each, and what that does to answers.
func Unknown(s *intent.Snapshot) []string {
	var out []string
	if s.Unknown().Has(intent.AreaBalancers) {
		out = append(out, "Services cannot be read: answers about their addresses may be wrong, and targets keep their load"+
			" balancers")
	}
	if s.Unknown().Has(intent.AreaDevices) {
		out = append(out, "SD-WAN objects cannot be read: the configuration of CNFs is unknown, and devices keep what they"+
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
	return "Services cannot be read: this may be an address of one"
}

// orUnknown says of an error about a service that it may come from what cannot be read.
func (inv *Inventory) orUnknown(err error) error {
	if err == nil || inv.servicesUnknown() == "" {
		return err
	}
	return fmt.Errorf("%w; Services cannot be read", err)
}
