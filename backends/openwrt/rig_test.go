package openwrt_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/backendtest"
	device "github.com/netloom/netloom/backends/openwrt"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

const cnfID intent.CNFID = "shop/cnf-0"

func scope() intent.Scope { return intent.Scope{Namespace: "shop", Purpose: "cnf"} }

func cnf() *intent.CNF {
	return &intent.CNF{
		ID: cnfID, Origin: intent.Origin{Kind: "Pod", Namespace: "shop", Name: "cnf-0"}, Scope: scope(), Ready: true,
		Addr: netip.MustParseAddr("10.244.0.9"), Run: "1",
		Networks: map[string]string{"lan": "net0", "wan1": "net1", "wan2": "net2"},
	}
}

// rig is a device, the snapshots of a CNF, and a backend that is driven step by step.
type rig struct {
	device  *simulator.Device
	client  *openwrt.Client
	backend *device.Backend
	secrets map[intent.SecretRef][]byte
	snap    *intent.Snapshot
	reached intent.Revision
	skips   []backends.Skip
	pause   time.Duration // between two reloads of one service, of backends that are made from now on
}

func newDevice(t testing.TB, opts simulator.Options) *simulator.Device {
	t.Helper()
	d, err := simulator.New(opts)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// connect makes a client of a device within the process.
func connect(t testing.TB, d *simulator.Device) *openwrt.Client {
	t.Helper()
	c, err := openwrt.New(openwrt.Options{
		URL: d.URL(), CA: d.CA(), Dial: d.Dial,
		Password: func(context.Context) (string, error) { return simulator.DefaultPassword, nil },
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newRig(t testing.TB) *rig {
	t.Helper()
	return newRigWith(t, simulator.Options{})
}

func newRigWith(t testing.TB, opts simulator.Options) *rig {
	t.Helper()
	r := &rig{device: newDevice(t, opts), secrets: map[intent.SecretRef][]byte{}, snap: intent.NewSnapshot()}
	r.client = connect(t, r.device)
	r.change(func(b *intent.Builder) { b.PutCNF(cnf()) })
	r.restart(t, "a")
	return r
}

var errNoSecret = errors.New("not found")

// restart makes a backend that knows nothing, as a new process would.
func (r *rig) restart(t testing.TB, owner string) {
	t.Helper()
	var err error
	r.backend, err = device.New(r.client, device.Options{
		Owner: owner, CNF: cnfID, ReloadPause: r.pause,
		Secret: func(_ context.Context, ref intent.SecretRef) ([]byte, error) {
			if v, ok := r.secrets[ref]; ok {
				return v, nil
			}
			return nil, errNoSecret
		},
	})
	require.NoError(t, err)
	r.reached = 0
}

func (r *rig) change(edit func(*intent.Builder)) {
	b := r.snap.Next()
	edit(b)
	r.snap = b.Commit()
}

// put adds device intents of the CNF's scope or rewrites them.
func (r *rig) put(list ...*intent.DeviceIntent) {
	r.change(func(b *intent.Builder) {
		for _, e := range list {
			b.PutDeviceIntent(e)
		}
	})
}

func (r *rig) drop(list ...*intent.DeviceIntent) {
	r.change(func(b *intent.Builder) {
		for _, e := range list {
			b.DropDeviceIntent(e.ID)
		}
	})
}

// set makes a set whose members have these addresses.
func (r *rig) set(id intent.SetID, addrs ...string) {
	var members []intent.Endpoint
	for _, a := range addrs {
		members = append(members, intent.Endpoint{
			Key: object.Key{Namespace: "shop", Name: a}, Addrs: []netip.Addr{netip.MustParseAddr(a)},
		})
	}
	next := &intent.Set{ID: id, Members: backendtest.NewMembers(members...)}
	r.change(func(b *intent.Builder) {
		if old := r.snap.Set(id); old != nil {
			b.UpdateMembers(next.Members, backendtest.Delta(old, next))
			return
		}
		b.CreateSet(next)
	})
}

// plan makes the cheapest plan there is.
func (r *rig) plan(t testing.TB) *backends.Plan {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), r.snap, r.reached)
	require.NoError(t, err)
	if p.Resync {
		p, err = r.backend.Plan(t.Context(), r.snap, 0)
		require.NoError(t, err)
		require.False(t, p.Resync)
	}
	return p
}

// reconcile brings the device to the snapshot and returns the plan that did so.
func (r *rig) reconcile(t testing.TB) *backends.Plan {
	t.Helper()
	p := r.plan(t)
	require.NoError(t, r.backend.Apply(t.Context(), p))
	r.reached, r.skips = r.snap.Revision(), p.Skips
	return p
}

// readBack plans from the present state of the device.
func (r *rig) readBack(t testing.TB) *backends.Plan {
	t.Helper()
	p, err := r.backend.Plan(t.Context(), r.snap, 0)
	require.NoError(t, err)
	return p
}

// requireSettled requires that neither this process nor a new one finds anything to write.
func (r *rig) requireSettled(t testing.TB) {
	t.Helper()
	require.Empty(t, text(t, r.readBack(t)))
	mine, reached := r.backend, r.reached
	r.restart(t, "a")
	require.Empty(t, text(t, r.readBack(t)), "after a restart")
	r.backend, r.reached = mine, reached
	require.NotContains(t, r.device.Export(), "_pending_")
}

// text formats the ops of a plan.
func text(t testing.TB, p *backends.Plan) string {
	t.Helper()
	var b strings.Builder
	shown := *p
	shown.Skips = nil
	require.NoError(t, shown.Write(&b, false))
	if p.Empty() {
		return ""
	}
	return b.String()
}

// verbs counts the ops of a plan.
func verbs(p *backends.Plan) map[backends.Verb]int {
	out := map[backends.Verb]int{}
	for i := range p.Ops {
		out[p.Ops[i].Verb]++
	}
	return out
}

// writes counts what clients asked the device to change.
func (r *rig) writes() int {
	n := 0
	for _, q := range r.device.Requests() {
		if q.Method != http.MethodGet && !q.Login {
			n++
		}
	}
	return n
}

// reloads lists what was done to services, in order, and forgets it.
func (r *rig) reloads() []string {
	var out []string
	for _, a := range r.device.Actions() {
		out = append(out, a.Service+" "+a.Verb)
	}
	r.device.Reset()
	return out
}

// on finds the object of an intent on the device, by the name that plans give it.
func (r *rig) object(t testing.TB, k openwrt.Kind, like string) openwrt.Object {
	t.Helper()
	all, err := r.client.List(t.Context(), k)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(o openwrt.Object) bool { return strings.Contains(o.Name(), like) })
	require.GreaterOrEqual(t, i, 0, "nothing like %s among %v", like, all)
	return all[i]
}
