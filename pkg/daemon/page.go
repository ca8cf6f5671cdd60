package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/serve"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/pkg/serve/web/live"
)

// page is the web page of a daemon and where it is served.
type page struct {
	*live.Page
	listener net.Listener
	door     *serve.Door
}

// newPage opens the page's address. It serves nothing before serve.
func newPage(d *Daemon) (*page, error) {
	listener, err := d.door.Listen(context.Background(), "web page", d.opts.UIListen)
	if err != nil {
		return nil, err
	}
	p := &page{listener: listener, door: d.door.Of(listener), Page: live.New(live.Options{
		State: pageState{d}, Cluster: d.opts.Cluster, Translation: d.opts.translation(),
		Logs: live.Logs{Paths: d.opts.ACLLogs, Rules: ovn.LogNames, Differs: d.stagedDiffers},
	})}
	d.observe = append(d.observe, p.Observer())
	d.coverage.OnChange(p.Covered)
	return p, nil
}

// address returns the URL of the page.
func (p *page) address() string {
	scheme := "http://"
	if p.door.Secure() {
		scheme = "https://"
	}
	return scheme + p.listener.Addr().String() + "/"
}

// serve answers requests until ctx ends.
func (p *page) serve(ctx context.Context, log logrus.FieldLogger) error {
	log.WithField("address", p.address()).Info("serving the web page")
	if err := p.door.Serve(ctx, p.Handler(), p.listener, true); err != nil {
		return fmt.Errorf("web page: %w", err)
	}
	return nil
}

// UIAddress returns the URL of the web page; "" if there is none.
func (d *Daemon) UIAddress() string {
	if d.page == nil {
		return ""
	}
	return d.page.address()
}

// pageState is the state of the daemon for the page.
type pageState struct{ *Daemon }

// Targets lists the targets, and then the CNFs of the newest snapshot.
func (s pageState) Targets() []live.Target {
	var out []live.Target
	for _, t := range s.targets {
		one := live.Target{Name: t.Name, Status: t.loop.Status()}
		if t.Up != nil {
			up := t.Up()
			one.Up = &up
		}
		if c, ok := s.coverage.Of(t.Name); ok {
			one.Coverage = &c
		}
		out = append(out, one)
	}
	snapshot := s.pipeline.Latest()
	if snapshot == nil || s.sdwan == nil {
		return out
	}
	for cnf := range snapshot.CNFs() {
		one := live.Target{Name: cnf.Target(), CNF: cnf, NotReady: sdwan.WhyNotWritten(cnf)}
		if status, err := s.sdwan.Loop(cnf.ID); status != nil {
			one.Status = *status
		} else {
			one.Status.Err = err
		}
		out = append(out, one)
	}
	return out
}

// Views lists what the daemon sees.
func (s pageState) Views() []web.View {
	out := []web.View{}
	now := time.Now()
	for _, v := range s.views() {
		out = append(out, web.View{Name: v.name(), Confirmed: v.Confirmed, Late: v.IsLate(now, s.started), Fault: v.Fault})
	}
	return out
}

// ReadRows reads the rows of an object from a target, over a separate connection.
func (s pageState) ReadRows(ctx context.Context, target string, of object.Ref) (rows []backends.Row, err error) {
	settings := s.opts.Target
	settings.ReadOnly, settings.Log = true, nil
	t, err := builtin.New(target, settings)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Backend.Close()) }()
	reader, ok := t.Backend.(backends.RowReader)
	if !ok {
		return nil, fmt.Errorf("rows of target %s cannot be read", target)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- t.Run(ctx) }()
	defer func() {
		cancel()
		err = errors.Join(err, <-done)
	}()
	if err := awaitConnection(ctx, t); err != nil {
		return nil, err
	}
	return reader.ReadRows(ctx, of)
}

func awaitConnection(ctx context.Context, t *builtin.Target) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for t.Up != nil && !t.Up() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("no connection to target %s: %w", t.Name, ovsdb.ErrNotConnected)
		case <-tick.C:
		}
	}
	return nil
}

// stagedDiffers reports a flow that a staged policy would decide differently.
func (d *Daemon) stagedDiffers(difference flows.Difference, tried flows.Tried) {
	d.metrics.StagedFlow(string(difference.Would))
	if tried.Ref != (object.Ref{}) {
		d.policies.Tried(tried.Ref, difference.Text(), tried.Since())
	}
}
