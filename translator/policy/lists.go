package policy

import (
	"net/netip"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/translator/sets"
)

// peerList is the content of a rule's from or to: the union of its elements.
type peerList struct {
	anyone     bool // the list is empty: every address, including those outside the cluster
	selections []labelcache.Selection
	values     int            // number of values that the selections compare with
	prefixes   []netip.Prefix // canonical, of all ipBlocks together
	hosts      []string       // DNS names
	all        *sets.Spec     // the list as a set; nil means any
	denied     bool           // the rule denies: addresses that several pods have are among them
	divided    bool           // the set is retained when the rule is divided, see divider.retainPeers
}

// union returns the list as a set.
func (l *peerList) union() *sets.Spec {
	spec := &sets.Spec{Prefixes: l.prefixes, Hosts: l.hosts, Contested: l.denied && len(l.selections) > 0}
	for _, s := range l.selections {
		spec.Terms = append(spec.Terms, labelcache.NewTerm(s))
	}
	named := spec.Named()
	return &named
}

// each returns the peers as the sets of a divisible rule; nil means any.
func (l *peerList) each() []sets.Spec {
	if l.anyone {
		return nil
	}
	if len(l.all.Terms)+len(l.hosts) == 0 && len(l.prefixes) > 0 {
		return []sets.Spec{*l.all}
	}
	out := make([]sets.Spec, 0, len(l.selections)+1)
	for _, term := range l.all.Terms {
		out = append(out, sets.Spec{Terms: []labelcache.Term{term}}.Named())
	}
	if len(l.prefixes) > 0 {
		out = append(out, sets.Spec{Prefixes: l.prefixes}.Named())
	}
	return out
}

// some reports whether the list can match anything.
func (l *peerList) some() bool { return l.all == nil || !l.all.Empty() }

// portList is the content of a rule's ports: the union of its elements.
type portList struct {
	numeric intent.Ports
	named   []namedPort // in the order of the rule, each once
}

// namedPort is a port that a rule names.
type namedPort struct {
	labelcache.PortMatch

	field string // of the object; "" if it is not reported that no pod declares the port
}

// numbered reports whether some ports are given by numbers.
func (l *portList) numbered() bool { return l.numeric.Any || len(l.numeric.Ranges) > 0 }
