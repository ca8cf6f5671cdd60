package openwrt

import (
	"context"
	"time"
)

// pausing reports whether a service must not be reloaded yet.
func (b *Backend) pausing(service string) bool {
	over := b.pauses[service]
	if over == nil {
		return false
	}
	select {
	case <-over:
		return false
	default:
		return true
	}
}

// awaitPause waits until a service may be reloaded again, and begins the pause after the reload that follows.
func (b *Backend) awaitPause(ctx context.Context, service string) error {
	if over := b.pauses[service]; over != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
		}
	}
	if b.opts.ReloadPause <= 0 {
		return nil
	}
	over := make(chan struct{})
	b.pauses[service] = over
	time.AfterFunc(b.opts.ReloadPause, func() { close(over) })
	return nil
}
