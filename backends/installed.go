package backends

import "context"

// Marker is a backend whose target reports when what was written to it is installed where packets are decided on. Any goroutine may call
// its methods at any time.
type Marker interface {
	// Mark asks the target to confirm everything that has been written so far, and returns the mark to wait for: a number greater than 0.
	// It is a write that every place with packets answers, so callers combine what they wait for.
	Mark(ctx context.Context) (uint64, error)
	// Installed reports how far everything is installed.
	Installed(ctx context.Context) (Installation, error)
}

// Installation is what is installed: everything that was written before a mark of at most Through.
type Installation struct {
	Through uint64
	// Newest is the last mark, by anyone. A mark above it was lost, as when the target was restored from a copy, and has to be made again.
	Newest uint64
	// Waits describes what a mark above Through is waiting for, such as "ovn-controller on some chassis"; "" if nothing is waiting.
	Waits string
}
