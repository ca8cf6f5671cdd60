package world

import (
	"fmt"

	"github.com/netloom/netloom/pkg/intent"
)

// Unknown lists the areas that a snapshot lacks because they cannot be read, one line each, with the effect on answers.
func Unknown(s *intent.Snapshot) []string {
	var out []string
	if s.Unknown().Has(intent.AreaBalancers) {
		out = append(out, "Services cannot be read: answers about their addresses may be wrong, and load balancers stay as they"+
			" are")
	}
	if s.Unknown().Has(intent.AreaDevices) {
		out = append(out, "SD-WAN objects cannot be read: the configuration of CNFs is unknown, and devices keep their"+
			" configuration")
	}
	return out
}

// Unknown lists the areas that the state lacks: see the function of the same name.
func (w *World) Unknown() []string { return Unknown(w.State.Snapshot) }

// ServicesUnknown returns a note for answers that depend on Services; "" if Services are known.
func (w *World) ServicesUnknown() string {
	if !w.State.Snapshot.Unknown().Has(intent.AreaBalancers) {
		return ""
	}
	return "Services cannot be read: this may be the address of a Service"
}

// OrUnread adds to an error about an object of another cluster that these are not known.
func (w *World) OrUnread(err error) error {
	switch {
	case w.judges:
		return err
	case w.State.Unread != "":
		return fmt.Errorf("%w; %s", err, w.State.Unread)
	default:
		return fmt.Errorf("%w; only its pods and namespaces were read", err)
	}
}

// OrUnknown adds to an error about a Service that Services cannot be read.
func (w *World) OrUnknown(err error) error {
	if err == nil || w.ServicesUnknown() == "" {
		return err
	}
	return fmt.Errorf("%w; Services cannot be read", err)
}
