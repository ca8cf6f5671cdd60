package backends

import "github.com/netloom/netloom/pkg/object"

// Keeper is a backend that can leave in its target what is there for objects that a snapshot does not have. Like the
// methods of Backend, Keep is called by one goroutine at a time with them.
type Keeper interface {
	// Keep has every plan from now on leave what the target holds for these objects, as Plan.Lost named them, for as long
	// as the snapshot does not have them. It replaces those given before; nil keeps nothing. The next plan has to read back.
	Keep(objects []object.Ref)
}

// KindPort is the kind of an object that is no object of a cluster, but what a target isolates: a logical port. That it is
// not to be isolated any more is a loss of its own, since a policy that only isolates has no rows that bear its name.
const KindPort = "Port"
