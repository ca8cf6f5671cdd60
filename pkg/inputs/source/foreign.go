package source

import "github.com/netloom/netloom/pkg/object"

// Foreign is what was read of another cluster.
type Foreign struct {
	Cluster string
	Source  Source
	Refs    []object.Ref // in order
	Unread  string       // why nothing was read, or not lately; "" if it can be read
}
