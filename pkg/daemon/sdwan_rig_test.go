package daemon_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/reconcile"
)

// rig is a site with CNFs and a daemon.
type rig struct {
	*sdwantest.Site
	opts   daemon.Options // those of SD-WAN are the site's
	daemon *daemon.Daemon
	page   http.Handler // of the daemon, if it has one
	stop   func()       // ends the daemon and waits for it
}

// inBubble runs f with a rig, where time passes when nothing else can happen. The daemon runs once start is called.
func inBubble(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{Site: sdwantest.New(t)}
		defer r.Close()
		defer func() {
			if r.stop != nil {
				r.stop()
			}
		}()
		r.opts = daemon.Options{
			Source: r.Source, Target: builtin.Settings{Owner: "netloom"},
			Reconcile: reconcile.Options{RetryMin: 250 * time.Millisecond, RetryMax: 30 * time.Second, MaxDeleteFraction: 0.5},
		}
		f(r)
	})
}

// start runs the daemon and lets a moment pass.
func (r *rig) start() {
	r.Helper()
	r.Source.Again()
	r.opts.SDWAN = r.Options
	d, err := daemon.New(r.opts, r.Log)
	require.NoError(r, err)
	if r.opts.UIListen != "" {
		r.page = d.HushUI()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	r.daemon, r.Metrics = d, d.Handler()
	r.stop = func() {
		cancel()
		require.NoError(r, <-ended)
		d.Close()
		r.stop = nil
	}
	r.After(3 * time.Second)
}
