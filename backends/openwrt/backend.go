package openwrt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Options holds the owner of a backend's objects, and the CNF that is its device.
type Options struct {
	// Owner distinguishes instances that write to one device: 1 to 32 characters of a-z, 0-9 and dash.
	Owner string
	// CNF is the device's ID in snapshots.
	CNF intent.CNFID
	// Addr is the address that the client connects to; nothing is written while the CNF has another one. An invalid
	// Addr matches any.
	Addr netip.Addr
	// Enforces reports whether the CNF enforces a policy; if nil, it enforces those of its scope.
	Enforces func(*intent.Policy) bool
	// Secret reads a key of a Secret; if nil, no Secret is found. Its errors must not contain what it read.
	Secret func(context.Context, intent.SecretRef) ([]byte, error)
	// ReloadPause is the least time between two reloads of one service; 0 is none. Apply waits for it; what need not follow that reload, such
	// as the reload of another service, is not delayed.
	ReloadPause time.Duration
	// Log logs what the device rejects; nil logs nothing.
	Log logrus.FieldLogger
}

// Backend keeps one device in sync with a snapshot. Create it with New.
type Backend struct {
	client *openwrt.Client
	opts   Options
	names  section.Namer

	model   *model   // nil if it is not known what is on the device
	pending *pending // what the last plan would turn the model into
	refused map[section.Key]compare.Refusal
	keep    map[object.Ref]bool // see Keep
	// What records on the device say, for when they cannot be left there: services that have to be reloaded, and the certificates
	// that this process wrote.
	owes map[string]bool
	// withoutTunnels is whether the last plan that was applied did not load ipsec, although it should have.
	withoutTunnels bool
	// losesTunnels is whether this process deleted tunnels that are still up, because ipsec was not reloaded since.
	losesTunnels bool
	pauses       map[string]chan struct{} // of services after a reload: closed when they are over
	seals        map[section.Key]string
	// faulted has the objects on which scripts of the device aborted last time, with digests of what was written.
	faulted map[section.Key]string
	absent  map[section.Key]string  // what the kernel lacked when it was last read
	filled  map[string]bool         // tables of ours with routes then
	rests   *rests                  // modules that are not read for a while
	silent  bool                    // it did not answer when it was last read
	known   map[openwrt.Kind]string // an object of each kind that was on the device
	memory  *device.Memory
	seen    map[intent.SecretRef][sha256.Size]byte // digests of the last content of Secrets; nil before they were read
}

// New makes a backend on a client, which the caller has to close.
func New(client *openwrt.Client, opts Options) (*Backend, error) {
	if !regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`).MatchString(opts.Owner) {
		return nil, fmt.Errorf("owner %q: expected 1 to 32 of a-z, 0-9 and, inside, dash", opts.Owner)
	}
	if opts.CNF == "" {
		return nil, errors.New("CNF: not set")
	}
	if opts.Log == nil {
		log := logrus.New()
		log.SetOutput(io.Discard)
		opts.Log = log
	}
	return &Backend{
		client: client, opts: opts, names: section.NewNamer(opts.Owner), refused: map[section.Key]compare.Refusal{}, owes: map[string]bool{},
		pauses: map[string]chan struct{}{},
		seals:  map[section.Key]string{}, faulted: map[section.Key]string{}, rests: newRests(), known: map[openwrt.Kind]string{},
	}, nil
}

// Close implements backends.Backend. It does not close the client.
func (b *Backend) Close() error { return nil }

// Keep implements backends.Keeper. An object of the device is identified by its kind and its name.
func (b *Backend) Keep(objects []object.Ref) {
	b.keep = make(map[object.Ref]bool, len(objects))
	for _, o := range objects {
		b.keep[o] = true
	}
}

// Succeed implements backends.Successor.
func (b *Backend) Succeed(before backends.Backend) {
	if old, ok := before.(*Backend); ok {
		b.memory, b.pauses, b.rests = old.memory, old.pauses, old.rests
	}
}

// remembers begins to use the memory for a run of a pod; that of another pod is dropped.
func (b *Backend) remembers(run string) *device.Memory {
	pod, _, _ := strings.Cut(run, " ")
	if b.memory == nil || b.memory.Pod != pod {
		b.memory = device.NewMemory()
		b.memory.Pod = pod
	}
	return b.memory
}

// Spare makes b leave alone what another backend of the same device leaves alone.
func (b *Backend) Spare(like backends.Backend) {
	if other, ok := like.(*Backend); ok {
		b.rests = other.rests
	}
}
