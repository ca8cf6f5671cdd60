package daemon

import "github.com/netloom/netloom/pkg/intent"

// Staged returns the snapshot that targets are synced with, nil if they wait for one.
func (d *Daemon) Staged() *intent.Snapshot { return d.staged.Load() }
