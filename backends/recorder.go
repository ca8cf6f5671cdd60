package backends

import "context"

// Recorder is a backend whose target can keep the settings that its rows are written with, for programs that compare or repair them. Like
// the methods of Backend, its methods are called by one goroutine at a time with them.
type Recorder interface {
	// Record has the target keep the settings of the owner, by key; nil removes them. It writes nothing if the target has them.
	Record(ctx context.Context, settings map[string]string) error
	// Recorded reads them; nil if the target has none.
	Recorded(ctx context.Context) (map[string]string, error)
}
