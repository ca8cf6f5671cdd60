package demo

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	examples "github.com/netloom/netloom/deploy/examples/sdwan"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/reconcile"
)

// cnfs shows the effect of SD-WAN resources: the content of simulated devices.
type cnfs struct {
	*show   // to print with
	dir     string
	daemon  *daemon.Daemon
	devices *devices
	changes chan deviceChange

	mu        sync.Mutex
	converged map[string]bool // targets that are in sync, or once were
	wake      chan struct{}   // size one
}

// deviceChange is a plan that was written to a device.
type deviceChange struct {
	target string
	change
}

// deviceInterval is how often devices are read back, which is when one that silently lost everything gets it again.
const deviceInterval = 5 * time.Second

// sdwanOptions has daemons simulate a device for every CNF.
func sdwanOptions(d *devices, opts Options) sdwan.Options {
	interval := deviceInterval
	if opts.deviceInterval > 0 {
		interval = opts.deviceInterval
	}
	return sdwan.Options{Enabled: true, PlainHTTP: true, Interval: interval, Target: d.target}
}

// newCNFs makes the printer for the CNFs of a daemon with simulated devices.
func newCNFs(s *show, d *daemon.Daemon, dir string, devices *devices) *cnfs {
	e := &cnfs{
		show: s, daemon: d, dir: dir, devices: devices, changes: make(chan deviceChange, 16),
		converged: map[string]bool{}, wake: make(chan struct{}, 1),
	}
	devices.latest = d.Pipeline().Latest
	d.Observe(e)
	return e
}

// newBranch makes the daemon that runs the built-in SD-WAN example. It has an embedded database of its own, which is empty,
// so that the two examples are independent.
func newBranch(opts Options, devices *devices, log logrus.FieldLogger) (*daemon.Daemon, string, func(), error) {
	dir, clean, err := unpacked("deploy/examples/sdwan", "cnf.yaml", examples.Files)
	if err != nil {
		return nil, "", nil, err
	}
	d, err := daemon.New(daemon.Options{
		Manifests: dir,
		Target: builtin.Settings{Owner: "netloom-demo", OVN: ovn.Settings{
			Endpoints: []string{ovn.Embedded}, PortNames: ovn.DefaultPortNames,
		}},
		Reconcile: reconcile.Options{MaxDeleteFraction: 1, MaxInterval: reconcile.DefaultMaxInterval},
		SDWAN:     sdwanOptions(devices, opts),
		UIListen:  beside(opts.UIListen),
	}, log)
	if err != nil {
		clean()
		return nil, "", nil, err
	}
	return d, dir, func() { d.Close(); clean() }, nil
}

// beside is an address next to that of another page, on any free port; "" if there is none.
func beside(listen string) string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, "0")
}

// first waits until every device is in sync, and prints what they have.
func (e *cnfs) first(ctx context.Context) error {
	timeout := time.After(patience)
	for {
		if s := e.daemon.Pipeline().Latest(); s != nil && e.done(s) {
			for len(e.changes) > 0 {
				<-e.changes // they led to what is shown now
			}
			e.print(s)
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout:
			return fmt.Errorf("no device was configured within %s, for the SD-WAN resources in %s", patience, e.dir)
		case <-e.wake:
		case <-time.After(20 * time.Millisecond): // a snapshot without CNFs triggers nothing
		}
	}
}

// done reports whether every CNF that may be written to is in sync.
func (e *cnfs) done(s *intent.Snapshot) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for g := range s.CNFs() {
		if g.Writable() && !e.converged[g.Target()] {
			return false
		}
	}
	return true
}

// print prints what each device has.
func (e *cnfs) print(s *intent.Snapshot) {
	for g := range s.CNFs() {
		device := e.devices.of(g.ID)
		if device == nil {
			continue
		}
		n := 0
		for range s.DeviceIntentsOf(g.Scope) {
			n++
		}
		e.printf("\n%s\n", e.bold(fmt.Sprintf("SD-WAN: what %d resources made of the OpenWRT device in pod %s/%s (uci export)",
			n, g.Origin.Namespace, g.Origin.Name)))
		for _, pkg := range []string{"mwan3", "firewall", "ipsec"} {
			e.printf("%s\n", strings.TrimRight(indent(hidden(device.Export(pkg))), " \n"))
		}
		if kernel := device.Kernel(); kernel != "" {
			e.printf("%s\n", strings.TrimRight(indent(kernel), " \n"))
		}
	}
	for _, p := range e.daemon.Pipeline().Problems() {
		e.printf("! %s\n", p)
	}
}

// suggest prints what to try.
func (e *cnfs) suggest() {
	s := e.daemon.Pipeline().Latest()
	for g := range s.CNFs() {
		e.printf("The device of %s is simulated. Raise restartCount in %s, as if its container had restarted: netloom writes everything again.\n",
			g.Target(), absolute(filepath.Join(e.dir, "cnf.yaml")))
		if page := e.daemon.UIAddress(); page != "" && e.daemon != e.show.daemon {
			e.printf("The web page of the CNFs: %s\n", page)
		}
		return
	}
}

// written prints a plan that was written to a device.
func (e *cnfs) written(c deviceChange) error {
	e.printf("\n%s\n", e.bold(fmt.Sprintf("%s  %s, revision %d, written in %s",
		time.Now().Format(time.TimeOnly), c.target, c.plan.Revision, c.took.Round(time.Microsecond))))
	return c.plan.Write(e.w, e.color)
}

// Applied hands a plan that was written to a device to the printing goroutine, as show.Applied does.
func (e *cnfs) Applied(target string, p *backends.Plan, took time.Duration) {
	if !strings.HasPrefix(target, "openwrt/") {
		return
	}
	select {
	case e.changes <- deviceChange{target, change{p, took}}:
	default:
	}
}

// Converged records that a device is in sync.
func (e *cnfs) Converged(target string, _ intent.Revision, _ int) {
	e.mu.Lock()
	e.converged[target] = true
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
