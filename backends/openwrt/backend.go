package openwrt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"regexp"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// Options says whose objects a backend writes, and which CNF the device is.
type Options struct {
	// Owner tells apart instances that write to one device, 1 to 32 of a-z, 0-9 and dash.
	Owner string
	// CNF is the device's ID in snapshots.
	CNF intent.CNFID
	// Addr is where the client finds the device; while the CNF is elsewhere nothing is written. Invalid is anywhere.
	Addr netip.Addr
	// Enforces says which policies the CNF enforces; nil is those for its scope.
	Enforces func(*intent.Policy) bool
	// Secret reads a key of a Secret; nil knows none. Its errors must not hold what it read.
	Secret func(context.Context, intent.SecretRef) ([]byte, error)
	// Log takes what the device refuses; nil drops it.
	Log logrus.FieldLogger
}

// Backend makes one device agree with a snapshot. Make it with New.
type Backend struct {
	client *openwrt.Client
	opts   Options
	names  namer

	model   *model   // nil when it is not known what the device holds
	pending *pending // what the last plan would make of the model
	refused map[key]refusal
	keep    map[object.Ref]bool                    // see Keep
	begun   bool                                   // something was applied since New
	seen    map[intent.SecretRef][sha256.Size]byte // digests of what Secrets said last; nil before they were read
}

// model is what the device holds, and what it was made from.
type model struct {
	revision  intent.Revision
	scope     intent.Scope
	run       string
	networks  map[string]string
	resources *wishes
	policies  *wishes
	enforced  []*intent.Policy
	have      *holdings
	skips     []backends.Skip
	rotated   bool // a Secret says something else than when it was read before
	guard     bool // resources were rendered for a device with rules of policies
}

// refusal is what the device said of an object. It is not asked again until everything is read back, or the object is
// another.
type refusal struct {
	of     string // digest of the object; "" for its deletion
	reason string
}

var errNoSecrets = errors.New("reading Secrets is not possible here")

// New makes a backend on a client, which stays its maker's to close.
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
	return &Backend{client: client, opts: opts, names: newNamer(opts.Owner), refused: map[key]refusal{}}, nil
}

// Close implements backends.Backend. The client is its maker's to end.
func (b *Backend) Close() error { return nil }

// Plan implements backends.Backend. While nothing is known of device intents it asks for nothing. For a CNF that must
// not be written now it is an error.
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

// writable says why a CNF must not be written now, nil when it may.
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
	var err error
	if next.have, err = observe(ctx, b.client, b.names, next.resources.speaksOf); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	next.policies = renderPolicies(want, next.enforced, next.resources, next.have.zones, b.names)
	plan := b.compare(next, want, true)
	return b.propose(plan, next), nil
}

// renderResources fills in what device intents ask for; last is what they asked for before, see render.
func (b *Backend) renderResources(ctx context.Context, m *model, want *intent.Snapshot, g *intent.CNF, last *wishes) error {
	secrets, err := readSecrets(ctx, want, g.Scope, b.opts.Secret)
	if err != nil {
		return err
	}
	m.scope, m.run, m.networks = g.Scope, g.Run, g.Networks
	m.rotated = b.rotated(secrets)
	m.guard = b.guards(m)
	m.resources = render(want, g, b.names, secrets, m.guard, last)
	return nil
}

// rotated reports whether a Secret says something else than when it was read last: to write that is no repair.
func (b *Backend) rotated(now map[intent.SecretRef]secret) bool {
	before := b.seen
	b.seen = map[intent.SecretRef][sha256.Size]byte{}
	differs := false
	for ref, s := range now {
		b.seen[ref] = sha256.Sum256(s.value)
		differs = differs || before != nil && before[ref] != b.seen[ref]
	}
	return differs
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

// compare makes a plan of what m asks for. A full one is made from read-back, and asks the device again what it refused.
func (b *Backend) compare(m *model, want *intent.Snapshot, full bool) *backends.Plan {
	all := newWishes()
	all.keep, all.gone, all.spare, all.present = m.resources.keep, m.resources.gone, m.resources.spare, m.resources.present
	maps.Copy(all.objects, m.resources.objects)
	maps.Copy(all.objects, m.policies.objects)
	c := &comparison{want: all, have: m.have, names: b.names, refused: b.refused}
	if full {
		c.refused = nil
	}
	c.diff(b.keep)
	run := &pending{model: m, wrote: map[string]bool{}, left: map[string]bool{}}
	again := map[key]bool{} // what was refused, and what needs it
	for i := range c.ops {
		s := stepOf(&c.ops[i])
		s.run = run
		r, refused := b.refused[s.key]
		if refused && full {
			c.skips = append(c.skips, backends.Skip{Intent: s.intent, Reason: r.reason})
		}
		again[s.key] = m.rotated && s.key.kind == openwrt.Remotes || full && (refused || s.want != nil && slices.ContainsFunc(s.want.needs, func(k key) bool { return again[k] }))
		c.ops[i].Again = c.ops[i].Again || again[s.key]
	}
	plan := &backends.Plan{Revision: want.Revision(), Full: full, Owned: len(m.have.objects), Ops: append(c.ops, b.reloads(c.ops, m.have, run)...)}
	for i := range plan.Ops {
		plan.Ops[i].Group = i // nothing on the device is a transaction
	}
	if full {
		c.describe(plan)
	}
	plan.Skips = inOrder(slices.Concat(m.resources.skips, m.policies.skips, c.skips))
	m.revision, m.skips = want.Revision(), plan.Skips
	run.plan = plan
	return plan
}

// inOrder sorts skips; what is there twice is there once.
func inOrder(skips []backends.Skip) []backends.Skip {
	slices.SortFunc(skips, func(x, y backends.Skip) int {
		return cmp.Or(cmp.Compare(x.Intent, y.Intent), cmp.Compare(x.Reason, y.Reason))
	})
	return slices.Compact(skips)
}

// reloads lists the services that have to read anew: where something is written, where a note says that something was
// and nobody could tell them, and, with the first writes of a process, wherever there is something of ours.
func (b *Backend) reloads(ops []backends.Op, have *holdings, run *pending) []backends.Op {
	services, must := map[string]bool{}, map[string]bool{}
	for i := range ops {
		services[stepOf(&ops[i]).service()] = true
	}
	for k := range have.objects {
		if len(ops) > 0 && !b.begun {
			must[k.kind.Service()] = true
		}
	}
	var out []backends.Op
	seen := map[string]bool{"": true}
	for _, kind := range openwrt.Kinds() {
		s := kind.Service()
		must[s] = must[s] || have.notes[b.names.pending(s)]
		if seen[s] || !services[s] && !must[s] {
			continue
		}
		seen[s] = true
		out = append(out, backends.Op{
			Verb: backends.Reload, Kind: "service", Name: s, After: backends.Fields{"action": string(openwrt.Reload)},
			Native: &step{stage: reload, key: key{name: s}, must: must[s], run: run},
		})
	}
	return out
}

// propose remembers what a plan would make of the model. A plan without ops has its effect at once.
func (b *Backend) propose(plan *backends.Plan, next *model) *backends.Plan {
	b.pending = nil
	if plan.Empty() {
		b.model = next
		return plan
	}
	b.pending = stepOf(&plan.Ops[0]).run
	return plan
}
