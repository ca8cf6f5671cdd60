package openwrt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/compare"
	"github.com/netloom/netloom/backends/openwrt/internal/device"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
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
	// ReloadPause is the least time between two reloads of one service; 0 is none. Apply waits for it, after everything is written and the
	// other services are reloaded.
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
	owes   map[string]bool
	pauses map[string]chan struct{} // of services after a reload: closed when they are over
	seals  map[section.Key]string
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

// model is what is on the device, and what it was made from.
type model struct {
	snapshot  *intent.Snapshot
	scope     intent.Scope
	run       string
	networks  map[string]string
	resources *render.Desired
	policies  *render.Desired
	enforced  []*intent.Policy
	have      *device.Inventory
	skips     []backends.Skip
	rotated   bool // a Secret has changed since it was last read
	guard     bool // resources were rendered for a device with rules of policies
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

// Plan implements backends.Backend. While device intents are unavailable, the plan is empty. It is an error if the CNF
// must not be written now.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.pending = nil
	if want.Unknown().Has(intent.AreaDevices) {
		b.model = nil
		return &backends.Plan{Revision: want.Revision(), Full: since == 0}, nil
	}
	g := want.CNF(b.opts.CNF)
	if err := b.writable(g); err != nil {
		b.model = nil
		return nil, fmt.Errorf("plan: CNF %s: %w", b.opts.CNF, err)
	}
	if since == 0 {
		return b.planAll(ctx, want, g)
	}
	changes, ok := b.changesSince(want, since, g)
	if !ok {
		b.model = nil
		return &backends.Plan{Revision: want.Revision(), Resync: true}, nil
	}
	return b.planChanges(ctx, want, g, changes)
}

// writable returns the reason why a CNF must not be written now, nil if it may.
func (b *Backend) writable(g *intent.CNF) error {
	switch {
	case g == nil:
		return errors.New("it does not exist")
	case g.Conflict != "":
		return errors.New(g.Conflict)
	case g.Leaving:
		return errors.New("it is terminating")
	case b.opts.Addr.IsValid() && g.Addr != b.opts.Addr:
		return errors.New("its address has changed")
	case !g.Writable():
		return errors.New("it is not ready")
	default:
		return nil
	}
}

// planAll renders everything, reads back everything and compares.
func (b *Backend) planAll(ctx context.Context, want *intent.Snapshot, g *intent.CNF) (*backends.Plan, error) {
	b.model = nil
	next := &model{enforced: b.enforced(want, g)}
	if err := b.renderResources(ctx, next, want, g, nil); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.rests.begin(g.Run)
	var err error
	if next.have, err = b.observe(ctx, next.resources, len(next.enforced) > 0); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	next.policies = render.Policies(want, next.enforced, next.resources, next.have.Zones, b.names)
	next.withoutZones()
	if err := b.readItems(ctx, next); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	memory := b.remembers(g.Run)
	found, err := b.inspect(ctx, next.have)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	before := b.absent
	next.have.Absent, b.absent = found.Absent, found.Absent
	forgotten := memory.Forgotten(next.have)
	lost := maps.Clone(memory.Objects)
	memory.Update(next.have, forgotten)
	plan := b.compare(next, want, func(c *compare.Comparison) { c.Repairs(found, forgotten, lost, before) })
	return b.propose(plan, next), nil
}

// renderResources renders the device intents; last is the result of the previous rendering, see render.Intents.
func (b *Backend) renderResources(ctx context.Context, m *model, want *intent.Snapshot, g *intent.CNF, last *render.Desired) error {
	secrets, err := readSecrets(ctx, want, g.Scope, b.opts.Secret)
	if err != nil {
		return err
	}
	m.scope, m.run, m.networks = g.Scope, g.Run, g.Networks
	m.rotated = b.rotated(secrets)
	m.guard = b.guards(m)
	m.resources = render.Intents(want, g, b.names, secrets, m.guard, last)
	return nil
}

// enforced lists the policies that the CNF enforces.
func (b *Backend) enforced(want *intent.Snapshot, g *intent.CNF) []*intent.Policy {
	var out []*intent.Policy
	for p := range want.Policies() {
		if b.enforces(p, g) {
			out = append(out, p)
		}
	}
	return out
}

func (b *Backend) enforces(p *intent.Policy, g *intent.CNF) bool {
	if b.opts.Enforces != nil {
		return b.opts.Enforces(p)
	}
	return p.CNFs == g.Scope && p.CNFs != intent.Scope{}
}

// compare makes a plan for what m asks for. A full one is made from read-back, and retries what the device rejected; repairs
// adds to it what read-back found in the kernel. It is nil for a plan of changes.
func (b *Backend) compare(m *model, want *intent.Snapshot, repairs func(*compare.Comparison)) *backends.Plan {
	full := repairs != nil
	all := render.NewDesired()
	all.Keep, all.Gone, all.Retain, all.Present = m.resources.Keep, m.resources.Gone, m.resources.Retain, m.resources.Present
	maps.Copy(all.Objects, m.resources.Objects)
	maps.Copy(all.Objects, m.policies.Objects)
	c := &compare.Comparison{Want: all, Have: m.have, Names: b.names, Refused: b.refused, Seals: b.seals}
	if full {
		c.Refused = nil
	}
	c.Diff(b.keep)
	if full {
		repairs(c)
		c.Order()
	}
	run := &pending{model: m, wrote: map[string]bool{}, left: map[string]bool{}}
	again := map[section.Key]bool{} // what was rejected, and what needs it
	for i := range c.Ops {
		s := compare.StepOf(&c.Ops[i])
		r, refused := b.refused[s.Key]
		if refused && full {
			c.Skips = append(c.Skips, backends.Skip{Intent: s.Intent, Reason: r.Reason})
		}
		again[s.Key] = m.rotated && s.Key.Kind == openwrt.Remotes || full && (refused || s.Want != nil && slices.ContainsFunc(s.Want.Needs, func(k section.Key) bool { return again[k] }))
		c.Ops[i].Again = c.Ops[i].Again || again[s.Key]
	}
	plan := &backends.Plan{Revision: want.Revision(), Full: full, Owned: len(m.have.Objects), Ops: append(c.Ops, b.reloads(c.Ops, m.have)...)}
	for i := range plan.Ops {
		plan.Ops[i].Group = i // nothing on the device is a transaction
	}
	if full {
		c.Describe(plan)
	}
	plan.Skips = compare.InOrder(slices.Concat(m.resources.Skips, m.policies.Skips, c.Skips, m.have.Skips(), compare.AbsentSkips(m.have, all, c.Ops...), b.memory.Skips(all)))
	m.snapshot, m.skips = want, plan.Skips
	run.bind(plan)
	return plan
}

// reloads lists the services that have to be reloaded: those for which something is written, and those for which something was
// written without a reload, as a note or this process remembers.
func (b *Backend) reloads(ops []backends.Op, have *device.Inventory) []backends.Op {
	services, must := map[string]bool{}, map[string]bool{}
	for i := range ops {
		services[compare.StepOf(&ops[i]).Service()] = true
	}
	var out []backends.Op
	seen := map[string]bool{"": true}
	for _, kind := range openwrt.Kinds() {
		s := kind.Service()
		must[s] = have.Notes[b.names.Pending(s)] || b.owes[s]
		if seen[s] || !services[s] && !must[s] {
			continue
		}
		seen[s] = true
		out = append(out, backends.Op{
			Verb: backends.Reload, Kind: "service", Name: s, After: backends.Fields{"action": string(openwrt.Reload)},
			Native: &compare.Step{Stage: compare.Reload, Key: section.Key{Name: s}, Must: must[s]},
		})
	}
	var later []backends.Op // none waits for another's pause
	out = slices.DeleteFunc(out, func(op backends.Op) bool {
		if b.pausing(op.Name) {
			later = append(later, op)
			return true
		}
		return false
	})
	return append(out, later...)
}

// propose remembers what a plan would turn the model into. A plan without ops takes effect at once.
func (b *Backend) propose(plan *backends.Plan, next *model) *backends.Plan {
	b.pending = nil
	if plan.Empty() {
		b.model = next
		return plan
	}
	b.pending = taskOf(&plan.Ops[0]).run
	return plan
}
