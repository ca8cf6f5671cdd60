package cnf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/resolver"
	"github.com/netloom/netloom/pkg/reconcile"
)

// Interval is how often a controller in a test reads devices back.
const Interval = 30 * time.Second

// Cluster is an API, CNFs, DNS, and a controller that can be stopped and started. It runs in a bubble of
// testing/synctest.
type Cluster struct {
	API *API

	t       *testing.T
	devices *devices
	loads   map[string]*workload // by namespace/name
	log     *notebook
	change  func(*daemon.Options) // applied to the options before a controller starts; nil changes nothing

	mu    sync.Mutex
	hosts map[string][]netip.Addr

	controller *controller // nil while it is down
}

// controller is a daemon that runs.
type controller struct {
	daemon *daemon.Daemon
	stop   context.CancelFunc
	ended  chan error
}

// NewCluster makes an empty cluster. Close has to be called before the bubble ends.
func NewCluster(t *testing.T) *Cluster {
	api := NewAPI()
	return &Cluster{
		API: api, t: t, devices: newDevices(api), loads: map[string]*workload{}, log: newNotebook(), hosts: map[string][]netip.Addr{},
	}
}

// Close ends everything.
func (c *Cluster) Close() {
	c.Stop()
	c.devices.close()
}

// Start starts the controller.
func (c *Cluster) Start() {
	require.Nil(c.t, c.controller, "the controller is up")
	core, dyn := c.API.Kubernetes(), c.API.Dynamic()
	opts := daemon.Options{
		Source: kube.New(core, kube.Options{SDWAN: dyn}, c.log),
		Target: builtin.Settings{Owner: "netloom", OVN: ovn.Settings{
			Endpoints: []string{"unix:/nowhere/nb.sock"}, PortNames: "ovn-kubernetes",
		}},
		Reconcile: reconcile.Options{
			MinInterval: 100 * time.Millisecond, MaxInterval: reconcile.DefaultMaxInterval, MaxDeleteFraction: reconcile.DefaultMaxDeleteFraction,
		},
		SDWAN: sdwan.Options{
			Enabled: true, Dynamic: dyn, Secrets: kube.NewSecrets(core, Interval), NoEvents: true, PlainHTTP: true,
			Interval: Interval, Dial: c.devices.Dial,
		},
		Resolver:   resolver.Options{LookUp: c.resolve},
		KeepMemory: true, // a minute of a bubble is an instant
	}
	if c.change != nil {
		c.change(&opts)
	}
	d, err := daemon.New(opts, c.log)
	require.NoError(c.t, err)
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	c.controller = &controller{daemon: d, stop: stop, ended: make(chan error, 1)}
	go func(ended chan<- error) { ended <- d.Run(ctx) }(c.controller.ended)
}

// Stop ends the controller, if it is up.
func (c *Cluster) Stop() {
	if c.controller == nil {
		return
	}
	c.controller.stop()
	if err := <-c.controller.ended; !errors.Is(err, context.Canceled) {
		require.NoError(c.t, err)
	}
	c.controller.daemon.Close()
	c.controller = nil
}

// Network starts a workload of a CNF with that many replicas.
func (c *Cluster) Network(w workload, replicas int) error {
	if w.networks == nil {
		w.networks = []string{"ovn-net0", "ovn-net1", "ovn-net2"}
	}
	if w.kind == "" {
		w.kind = "Deployment"
	}
	key := w.namespace + "/" + w.name
	if c.loads[key] == nil {
		c.loads[key] = &w
	}
	return c.Scale(key, replicas)
}

// Scale changes the number of replicas; the newest are removed first.
func (c *Cluster) Scale(name string, replicas int) error {
	w := c.loads[name]
	if w == nil {
		return fmt.Errorf("there is no workload %s", name)
	}
	var mine []*replica
	for _, r := range c.devices.all() {
		if r.workload == w {
			mine = append(mine, r)
		}
	}
	for len(mine) > replicas {
		last := mine[len(mine)-1]
		c.devices.remove(last)
		mine = mine[:len(mine)-1]
	}
	for n := len(mine); n < replicas; n++ {
		if err := c.devices.add(w); err != nil {
			return err
		}
	}
	return nil
}

// Apply creates or changes objects.
func (c *Cluster) Apply(objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		if err := c.API.Apply(o); err != nil {
			return err
		}
	}
	return nil
}

// SetHost sets the addresses of a DNS name; without addresses the name does not exist.
func (c *Cluster) SetHost(name string, addrs ...netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts[name] = addrs
}

func (c *Cluster) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if addrs := c.hosts[host]; len(addrs) > 0 {
		return addrs, nil
	}
	return nil, fmt.Errorf("lookup %s: no such host", host)
}

// notebook is a log that a test can read.
type notebook struct {
	*logrus.Logger
	page *page
}

// page is text with several concurrent writers.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func newNotebook() *notebook {
	log, p := logrus.New(), &page{}
	log.SetOutput(p)
	log.SetLevel(logrus.DebugLevel)
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true, TimestampFormat: "15:04:05.000"})
	return &notebook{log, p}
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// recent is the end of the log, without lines about OVN, which does not exist here.
func (n *notebook) recent() string {
	lines := slices.DeleteFunc(strings.Split(n.page.String(), "\n"), func(line string) bool {
		return strings.Contains(line, "OVSDB server") || strings.Contains(line, "level=debug")
	})
	return strings.Join(lines[max(0, len(lines)-30):], "\n")
}
