package backends

import "github.com/netloom/netloom/pkg/object"

// Keeper is a backend that can leave in place what its target has for objects that a snapshot does not have. Like the
// methods of Backend, Keep is called by one goroutine at a time with them.
type Keeper interface {
	// Keep makes every later plan leave in place what the target has for these objects, named as in Plan.Lost, for as long
	// as the snapshot does not have them. It replaces those given before; nil keeps nothing. The next plan has to read back.
	Keep(objects []object.Ref)
}

// KindPort is the kind of an object that is not in a cluster, but isolated by a target: a logical port. A port that is no longer isolated
// is a loss in itself, because a policy that only isolates has no rows with its name.
const KindPort = "Port"
