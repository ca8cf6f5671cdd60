package reach

import (
	"maps"

	"github.com/netloom/netloom/pkg/intent"
)

// Change is the traffic that a new state lets pass between two classes and the old one did not, and the reverse.
type Change struct {
	From, To *Class
	Opened   Traffic
	Closed   Traffic
}

// Impact lists the differences between two states, for places that exist in both: each pair of classes between which
// different traffic passes, in the order of the classes. Pairs of places outside are skipped.
func Impact(before, after *intent.Snapshot, places []Place) []Change {
	classes := Classify(places, before, after)
	sends, receives := make([]bool, len(classes)), make([]bool, len(classes)) // differently, whatever the other end
	for i, c := range classes {
		moved := c.moved()
		sends[i], receives[i] = moved || c.differs(intent.Egress), moved || c.differs(intent.Ingress)
	}
	var out []Change
	for i, from := range classes {
		for j, to := range classes {
			if !sends[i] && !receives[j] || from.Family != to.Family || from.outside() && to.outside() || from == to && len(from.Places) == 1 {
				continue
			}
			was, now := from.Traffic(0, to), from.Traffic(1, to)
			if c := (Change{from, to, now.Minus(was), was.Minus(now)}); !c.Opened.Empty() || !c.Closed.Empty() {
				out = append(out, c)
			}
		}
	}
	return out
}

func (c *Class) outside() bool { return c.Places[0].Standing.IsValid() }

// differs reports whether the policies of the class in a direction differ in the second state.
func (c *Class) differs(d intent.Direction) bool {
	return !c.views[0].sides[d].equal(&c.views[1].sides[d])
}

// moved reports whether the class is in different sets in the second state.
func (c *Class) moved() bool { return !maps.Equal(c.views[0].sets, c.views[1].sets) }
