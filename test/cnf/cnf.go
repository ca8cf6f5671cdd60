package cnf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// workload is a CNF: pods that run a device each.
type workload struct {
	namespace, name, purpose string

	kind     string // Deployment, StatefulSet or Pod
	networks []string
	status   bool // lists networks as Multus does, instead of in the annotation of nfn
	tls      bool
	open     bool                  // requires no password
	made     int                   // number of replicas created so far
	more     []simulator.Interface // in addition to net0, net1 and net2
}

// link is how a pod can be reached.
type link int

const (
	up   link = iota
	down      // connections are refused
	cut       // packets are dropped silently
)

// replica is a pod of a workload and its device.
type replica struct {
	*workload
	pod      string
	address  string
	device   *simulator.Device
	restarts int
	ready    bool
	link     link
	booted   string // the device's configuration when it last booted
}

// password is the password of every device, unless a script sets another one.
const password = "opensesame"

// devices are all existing replicas and the network between them and the controller.
type devices struct {
	api *API

	mu     sync.Mutex
	list   map[string]*replica // by namespace/name of the pod
	serial int
	closed chan struct{} // closed when the network is gone
}

func newDevices(api *API) *devices {
	return &devices{api: api, list: map[string]*replica{}, closed: make(chan struct{})}
}

// all lists every replica, by the name of the pod.
func (d *devices) all() []*replica {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []*replica
	for _, name := range slices.Sorted(maps.Keys(d.list)) {
		out = append(out, d.list[name])
	}
	return out
}

// of is the replica in a pod, nil for none.
func (d *devices) of(pod string) *replica {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.list[pod]
}

// add starts one more replica of w.
func (d *devices) add(w *workload) error {
	w.made++
	pod := fmt.Sprintf("%s-%d", w.name, w.made)
	if w.kind == "Pod" && w.made == 1 {
		pod = w.name
	}
	return d.start(w, pod)
}

// start starts a pod of a name, with a new address and a new device.
func (d *devices) start(w *workload, pod string) error {
	r := &replica{workload: w, pod: pod, ready: true}
	d.mu.Lock()
	d.serial++
	r.address = fmt.Sprintf("10.1.%d.%d", d.serial/250, d.serial%250+1)
	d.mu.Unlock()
	device, err := simulator.New(simulator.Options{
		TLS: w.tls, Names: []string{r.host()}, Password: password, Strict: !w.open, Interfaces: append(interfaces(), w.more...),
	})
	if err != nil {
		return err
	}
	r.device, r.booted = device, device.Export()
	d.mu.Lock()
	d.list[w.namespace+"/"+r.pod] = r
	d.mu.Unlock()
	if err := d.secrets(w); err != nil {
		return err
	}
	return d.show(r)
}

// interfaces are the interfaces of every pod.
func interfaces() []simulator.Interface {
	return []simulator.Interface{
		{Name: "net0", Address: netip.MustParsePrefix("172.16.70.39/24")},
		{Name: "net1", Address: netip.MustParsePrefix("10.10.10.15/24"), Default: true},
		{Name: "net2", Address: netip.MustParsePrefix("10.10.20.15/24")},
	}
}

// host is the DNS name of the pod.
func (r *replica) host() string {
	return strings.ReplaceAll(r.address, ".", "-") + "." + r.namespace + ".pod.cluster.local"
}

// key is the pod's namespace and name.
func (r *replica) key() string { return r.namespace + "/" + r.pod }

// show writes the current state of r to the API.
func (d *devices) show(r *replica) error { return d.api.Apply(r.manifest()) }

// secrets creates the Secrets that the pods of a workload refer to.
func (d *devices) secrets(w *workload) error {
	if w.tls {
		var bundle []byte
		for _, r := range d.all() {
			if r.workload == w {
				bundle = append(bundle, r.device.CA()...)
			}
		}
		if err := d.api.Apply(secret(w.namespace, w.name+"-cert", map[string]string{"ca.crt": string(bundle)})); err != nil {
			return err
		}
	}
	if w.open || d.api.Get("secrets", w.namespace, w.name+"-account") != nil {
		return nil
	}
	return d.api.Apply(secret(w.namespace, w.name+"-account", map[string]string{"password": password}))
}

// remove deletes a replica.
func (d *devices) remove(r *replica) {
	d.api.Delete("pods", r.namespace, r.pod)
	d.mu.Lock()
	delete(d.list, r.key())
	d.mu.Unlock()
	r.device.Close()
}

// change changes r and writes the result to the API.
func (d *devices) change(r *replica, do func()) error {
	d.mu.Lock()
	do()
	d.mu.Unlock()
	return d.show(r)
}

// restarted changes r to the state after a restart of its container.
func (r *replica) restarted() {
	r.device.Restart()
	r.restarts++
	r.booted = r.device.Export()
}

// close ends every device, and the network.
func (d *devices) close() {
	close(d.closed)
	for _, r := range d.all() {
		r.device.Close()
	}
}

// Dial connects to the device of an address, or of the DNS name of its pod.
func (d *devices) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var found *replica
	for _, r := range d.all() {
		if r.address == host || r.host() == host {
			found = r
		}
	}
	how := cut // the address does not exist
	if found != nil {
		d.mu.Lock()
		how = found.link
		d.mu.Unlock()
	}
	switch how {
	case up:
		return found.device.Dial(ctx, network, address)
	case down:
		return nil, errors.New("connection refused")
	case cut:
		timer := time.NewTimer(unanswered)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-d.closed:
		case <-timer.C:
		}
	}
	return nil, errors.New("connection timed out")
}

// unanswered is when Linux gives up connecting to an address that does not answer.
const unanswered = 127 * time.Second

// secret is a Secret.
func secret(namespace, name string, data map[string]string) *unstructured.Unstructured {
	encoded := map[string]any{}
	for k, v := range data {
		encoded[k] = encode(v)
	}
	return object("v1", "Secret", namespace, name, map[string]any{"data": encoded, "type": "Opaque"})
}
