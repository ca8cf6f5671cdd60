package ovn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Options says whose rows a backend writes and how it finds logical ports.
type Options struct {
	// Owner tells apart instances that share a database, 1 to 32 of a-z, 0-9 and dash.
	Owner string
	// Ports says how logical ports are found.
	Ports PortNames
	// LogRate is how many lines per second an audit log that names no rate may write; 0 is no limit.
	LogRate uint32
	// MaxDeleteFraction is the largest share of the isolated logical ports that may leave their groups while as many pods
	// have no port, 0 to 1; 1 keeps none, not even those that are known to be the pods'. MinDeleteGuard is how many ports have
	// to be isolated for the share to be looked at; zero or less takes 20.
	MaxDeleteFraction float64
	MinDeleteGuard    int
	// LoadBalancing says where load balancers are put.
	LoadBalancing LoadBalancing
	// Log takes what is odd about claims; nil drops it.
	Log logrus.FieldLogger
}

// Backend makes one Northbound database agree with a snapshot. Make it with New.
type Backend struct {
	client *ovsdb.Client
	names  nb.Namer
	ports  portFinder
	rate   uint32
	log    logrus.FieldLogger
	fence  fence

	maxDelete float64 // see Options.MaxDeleteFraction
	minGuard  int     // see Options.MinDeleteGuard

	balancing balancing
	seen      *topology // nil before the first look
	watch     watch

	model     *model   // nil when it is not known what the target holds
	pending   *pending // what the last plan would make of the model
	adopt     bool     // the last write met a row of ours that was not read back
	published published
	// moved are the names of logical ports that appeared, disappeared or changed, and that no applied plan has looked at
	// yet, each with the ports that had it and took another.
	moved map[string][]string
	keep  map[object.Ref]bool // objects whose rows stay although the snapshot does not have them
}

// pending is the effect of a plan on the model, once it is applied.
type pending struct {
	plan   *backends.Plan
	commit func()
}

var ownerPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// New makes the backend of the database that client speaks to. Whoever made the client runs and ends it.
func New(client *ovsdb.Client, opts Options) (*Backend, error) {
	if !ownerPattern.MatchString(opts.Owner) {
		return nil, fmt.Errorf("owner %q: expected 1 to 32 of a-z, 0-9 and, inside, dash", opts.Owner)
	}
	balancing, err := opts.LoadBalancing.read(opts.Owner)
	if err != nil {
		return nil, err
	}
	log := opts.Log
	if log == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		log = quiet
	}
	if opts.MinDeleteGuard <= 0 {
		opts.MinDeleteGuard = defaultMinDeleteGuard
	}
	return &Backend{
		client:    client,
		maxDelete: opts.MaxDeleteFraction,
		minGuard:  opts.MinDeleteGuard,
		log:       log,
		fence:     newFence(opts.Owner),
		names:     nb.NewNamer(opts.Owner),
		ports:     portFinder{client: client, names: opts.Ports},
		rate:      opts.LogRate,
		balancing: balancing,
		moved:     map[string][]string{},
	}, nil
}

// Wake tells of logical ports and connections that came and went. It implements backends.Waker.
func (b *Backend) Wake() <-chan struct{} { return b.client.Wake() }

// Close implements backends.Backend. The client is its maker's to end.
func (b *Backend) Close() error { return nil }

// Plan implements backends.Backend.
func (b *Backend) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if !b.client.Connected() {
		return nil, fmt.Errorf("plan: %w: %w", backends.ErrUnreachable, b.client.NotConnected())
	}
	for _, c := range b.client.PortChanges() {
		b.moved[c.Name] = append(b.moved[c.Name], c.Left...)
	}
	b.pending = nil
	changes, ok := b.changesSince(want, since)
	if !ok {
		return b.planAll(ctx, want)
	}
	return b.planChanges(ctx, want, changes)
}

// propose remembers what a plan would make of the model. A plan without ops needs no Apply: it has its effect at once.
func (b *Backend) propose(plan *backends.Plan, commit func()) *backends.Plan {
	b.pending = &pending{plan: plan, commit: func() {
		commit()
		b.moved = map[string][]string{} // nothing was added since: another plan would have replaced this one
	}}
	if plan.Empty() {
		b.pending.commit()
		b.pending = nil
	}
	return plan
}

// changesSince tells what to look at, where the model says what the target holds. It is false where everything has to be
// read back.
func (b *Backend) changesSince(want *intent.Snapshot, since intent.Revision) ([]intent.Change, bool) {
	m := b.model
	if since == 0 || m == nil || len(b.keep) > 0 || m.revision != since || m.epoch != b.client.Epoch() {
		return nil, false
	}
	if (m.kept != nil) != isUnknown(want) {
		return nil, false
	}
	if b.ports.names.key != "" && len(b.moved) > 0 {
		return nil, false // the ports' external_ids do not say whose they were
	}
	if m.wishes.renamedAway(b.moved, b.client) {
		return nil, false // which of such ports stay in their groups, all of them together say: see keeper
	}
	changes, ok := want.Since(since)
	for _, c := range changes {
		if c.Families || slices.ContainsFunc(c.Sets, func(id intent.SetID) bool { return m.holds(id) && want.Set(id) != nil }) {
			return nil, false // a set that went and came back does not say who joined and left meanwhile
		}
	}
	return changes, ok
}

func (b *Backend) renderer(want *intent.Snapshot, schema ovsdb.Schema) *renderer {
	return &renderer{
		names: b.names, want: want, rate: b.rate, schema: schema,
		balancing: b.balancing, known: map[string]hosts{},
	}
}

// planAll renders everything, reads back everything and compares. What others do from now on is recorded.
func (b *Backend) planAll(ctx context.Context, want *intent.Snapshot) (*backends.Plan, error) {
	epoch, schema := b.client.Epoch(), b.client.Schema()
	b.ports.kept, b.ports.keptNames = nil, nil
	if err := b.beginWatch(ctx); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	r := b.renderer(want, schema)
	next := newModel()
	next.revision, next.epoch = want.Revision(), epoch
	if isUnknown(want) {
		return b.planRest(ctx, r, next)
	}
	balance, err := b.balanceAll(ctx, r, next.balances)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	rows := b.renderAll(r, next)
	maps.Copy(rows, balance.bars)
	have, err := b.readBack(ctx, schema, rows)
	if err == nil {
		b.coverAll(r, next, rows, have)
		err = b.readHosts(ctx, schema, balance, have)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}

	owned := len(have) + balance.owned()
	ops := balance.compare(rows, have)
	lost := b.findLost(r, rows, have)
	ops = append(lost.withoutLoss(ops), nb.Diff(rows, have)...)
	return b.proposeAll(r, next, lost, ops, nb.Names(have, rows), owned, balance.commit), nil
}

// readBack reads every row for policies that is ours: those of our mark and, where a wanted one is not among them, those
// that may have lost it.
func (b *Backend) readBack(ctx context.Context, schema ovsdb.Schema, rows nb.Rows) (nb.Rows, error) {
	have, err := b.observe(ctx, schema, rows, b.adopt)
	if err == nil && !b.adopt && len(have) > 0 && missing(rows, have) {
		have, err = b.observe(ctx, schema, rows, true)
	}
	return have, err
}

// proposeAll makes a full plan of ops and remembers that it leads to next.
func (b *Backend) proposeAll(
	r *renderer, next *model, lost *lost, ops []*nb.Op, names map[string]string, owned int, commit func(),
) *backends.Plan {
	nb.Sort(ops)
	plan := &backends.Plan{
		Revision: next.revision, Full: true, Owned: owned, Ops: b.show(arrange(ops, owned == 0), names), Skips: r.skips,
	}
	lost.describe(plan)
	return b.propose(plan, func() {
		commit()
		b.model = next
	})
}

// missing says whether a wanted row was not read back.
func missing(want, have nb.Rows) bool {
	for uuid := range want {
		if have[uuid] == nil {
			return true
		}
	}
	return false
}

// renderAll renders every row and fills in the model that goes with them.
func (b *Backend) renderAll(r *renderer, next *model) nb.Rows {
	subjects := map[intent.SetID]bool{intent.IsolatedIngress: true, intent.IsolatedEgress: true}
	for p := range r.want.Policies() {
		next.putPolicy(p.ID, p)
		for _, s := range subjectsOf(p) {
			subjects[s] = true
		}
	}
	rows := nb.Rows{}
	for subject := range subjects {
		g := r.group(subject, next.policiesOf(subject, r, nil))
		if g == nil {
			continue
		}
		next.putGroup(subject, g)
		maps.Copy(rows, g.acls)
		rows.Put(r.portGroup(g, b.ports.cover(r.want.Set(subject), next.wishes)))
	}
	for ref := range next.peers {
		rows.Put(r.addressSet(ref))
	}
	for rate := range next.meters {
		rows.Put(r.meter(rate)...)
	}
	return rows
}

// ErrDrift is what Apply returns when a row that was to change is not there any more. The next plan has to read back.
var ErrDrift = errors.New("a row of ours is gone")
