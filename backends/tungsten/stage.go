package tungsten

import (
	"strconv"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/tungsten"
)

// stage is one or more firewall policies in the list of a direction. Stages decide in this order: first those for the addresses of
// Services, which let no connection to one get to the others.
type stage int

const (
	stageVIPSystem stage = iota
	stageVIPAdmin
	stageVIPDeny
	stageVIPAllow
	stageVIPIsolation
	stageVIPBaseline
	stageVIPRest
	stageSystem    // what a network cannot do without
	stageAdmin     // ordered
	stageDeny      // what rules of NetworkPolicies deny
	stageAllow     // what NetworkPolicies allow
	stageIsolation // what they do not allow
	stageBaseline  // ordered
	stageRest      // everything else passes
)

func stages() []stage {
	out := make([]stage, 0, stageRest+1)
	for s := stageVIPSystem; s <= stageRest; s++ {
		out = append(out, s)
	}
	return out
}

// vip reports whether s decides on connections to the addresses of Services.
func (s stage) vip() bool { return s < stageSystem }

// base returns the stage of the same kind for all other connections.
func (s stage) base() stage {
	if s.vip() {
		return s + stageSystem
	}
	return s
}

func (s stage) String() string {
	name := [...]string{"system", "admin", "deny", "allow", "isolation", "baseline", "rest"}[s.base()-stageSystem]
	if s.vip() {
		return "service-" + name
	}
	return name
}

func (s stage) ordered() bool { return s.base() == stageAdmin || s.base() == stageBaseline }

// allowParts is how many firewall policies the rules that allow are spread over. The server reads and announces all references of a
// policy whenever it gains one, so that a single policy would cost the square of their number.
const allowParts = 8

// parts is how many firewall policies a stage has: several where the order of rules does not matter and there are many.
func (s stage) parts() int {
	if s.base() == stageAllow {
		return allowParts
	}
	return 1
}

// split distributes references to rules over the parts of s, by the UUIDs of the rules: a rule always gets to the same part.
func (s stage) split(rules []tungsten.Ref) [][]tungsten.Ref {
	out := make([][]tungsten.Ref, s.parts())
	for _, ref := range rules {
		at := 0
		if len(out) > 1 {
			digit, err := strconv.ParseUint(ref.UUID[len(ref.UUID)-1:], 16, 8)
			if err == nil { // else it is the first part, as good as any
				at = int(digit) % len(out)
			}
		}
		out[at] = append(out[at], ref)
	}
	return out
}

// part is a firewall policy: the one of a stage of a direction, or one of several.
type part struct {
	direction intent.Direction
	stage     stage
	index     int
}

// partsOf lists the firewall policies of a stage of a direction.
func partsOf(d intent.Direction, s stage) []part {
	out := make([]part, s.parts())
	for i := range out {
		out[i] = part{d, s, i}
	}
	return out
}

// parts lists all firewall policies.
func parts() []part {
	var out []part
	for _, d := range intent.Directions() {
		for _, s := range stages() {
			out = append(out, partsOf(d, s)...)
		}
	}
	return out
}
