package sdwan_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/feedback/sdwan/sdwantest"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/translator"
)

// rig is a site with a pipeline and a controller.
type rig struct {
	*sdwantest.Site
	controller *sdwan.Controller
	term       func() // begins a run of the controller
	standby    func() // ends that run and waits for it; nil while there is none
	stop       func() // ends everything and waits for it; nil while nothing runs
}

// inBubble runs f with a rig, where time passes when nothing else can happen. The controller runs once start is called.
func inBubble(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{Site: sdwantest.New(t)}
		defer r.Close()
		defer func() {
			if r.stop != nil {
				r.stop()
			}
		}()
		r.Options.Target = deviceTarget
		f(r)
	})
}

// start runs a pipeline and a controller, and lets the quiet period after the first reload pass.
func (r *rig) start() {
	r.Helper()
	r.prepare()
	r.term()
	r.After(6 * time.Second)
}

// prepare runs a pipeline, and a controller on standby.
func (r *rig) prepare() {
	r.Source.Again()
	m := metrics.New()
	r.Metrics = m.Handler()
	p := pipeline.New(r.Source, translator.Options{}, r.Log)
	names := resolver.New(resolver.Options{LookUp: r.LookUp}, p, m, r.Log)
	r.controller = sdwan.New(r.Options, sdwan.Environment{
		Pipeline: p, Objects: r.Source, Metrics: m, Observer: m, Owner: "netloom", KeptChanged: func() {}, Log: r.Log,
		Resolved: names.Settled,
		Loops: reconcile.Options{
			RetryMin: 250 * time.Millisecond, RetryMax: 30 * time.Second, MaxDeleteFraction: 0.5,
			Known: func(ref object.Ref) bool { _, known := r.Source.Get(ref); return known },
		},
	})
	p.OnPublish(func(s pipeline.Published) {
		names.Want(p.Translator().Hosts())
		r.controller.Published(&s)
	})
	end := r.background(p.Run, names.Run)
	r.term = func() {
		r.standby = r.background(r.controller.Run)
	}
	r.stop = func() {
		if r.standby != nil {
			r.standby()
		}
		end()
		r.standby, r.stop = nil, nil
	}
}

// background runs something until it is asked to end, and then waits for it.
func (r *rig) background(run ...func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	var group errgroup.Group
	for _, f := range run {
		group.Go(func() error { return f(ctx) })
	}
	return func() {
		cancel()
		require.NoError(r, group.Wait())
	}
}

// deviceTarget makes the target of a device.
func deviceTarget(d sdwan.Device) (*sdwan.Target, error) {
	t, err := builtin.New("openwrt", builtin.Settings{
		Owner: d.Owner, Log: d.Client.Log,
		OpenWRT: builtin.OpenWRTSettings{Client: d.Client, CNF: d.CNF, Addr: d.Addr, Secret: d.Secret},
	})
	if err != nil {
		return nil, err
	}
	return &sdwan.Target{Backend: t.Backend, Run: t.Run}, nil
}
