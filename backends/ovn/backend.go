package ovn

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Options holds the owner of a backend's rows and how it finds logical ports.
type Options struct {
	// Owner distinguishes instances that share a database: 1 to 32 characters of a-z, 0-9 and dash.
	Owner string
	// Ports is how logical ports are found.
	Ports PortNames
	// LogRate is how many lines per second an audit log without a rate of its own may write; 0 means no limit.
	LogRate uint32
	// MaxDeleteFraction is the largest share of the isolated logical ports that may leave their groups while as many pods have
	// no port, 0 to 1; 1 keeps none, not even those that are known to belong to the pods. MinDeleteGuard is how many ports
	// have to be isolated for the share to apply; zero or less means 20.
	MaxDeleteFraction float64
	MinDeleteGuard    int
	// LoadBalancing is where load balancers are put.
	LoadBalancing LoadBalancing
	// Log logs anomalies of claims; nil logs nothing.
	Log logrus.FieldLogger
}

// Backend keeps one Northbound database in sync with a snapshot. Create it with New.
type Backend struct {
	client        *ovsdb.Client
	names         nb.Namer
	ports         portFinder
	rate          uint32
	guard         portGuard
	fence         fence
	loadBalancers loadBalancers
	watch         watch

	lowering *intent.Lowering // for a target without tiers
	counter  counter

	model   *model   // nil if it is not known what the target has
	pending *pending // what the last plan would turn the model into
	adopt   bool     // the last insert hit an existing row of ours
	// dropsByDefault is whether the database dropped what no ACL matches when it was last read back.
	dropsByDefault bool
	// published is the coverage of the last plan, and inForce that before it is applied, for every goroutine; nil before the first.
	published, inForce atomic.Pointer[backends.Coverage]
	// moved are the names of logical ports that appeared, disappeared or changed, and that no applied plan has handled
	// yet, each with the ports that had it and were renamed.
	moved map[string][]string
	keep  map[object.Ref]bool // objects whose rows stay although the snapshot does not have them
}

var ownerPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$`)

// New makes the backend of the database that client connects to. The caller runs and closes the client.
func New(client *ovsdb.Client, opts Options) (*Backend, error) {
	if !ownerPattern.MatchString(opts.Owner) {
		return nil, fmt.Errorf("owner %q: expected 1 to 32 of a-z, 0-9 and, inside, dash", opts.Owner)
	}
	settings, err := opts.LoadBalancing.parse(opts.Owner)
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
	names := nb.NewNamer(opts.Owner)
	return &Backend{
		client:        client,
		names:         names,
		ports:         portFinder{client: client, names: opts.Ports},
		rate:          opts.LogRate,
		guard:         portGuard{opts.MaxDeleteFraction, opts.MinDeleteGuard},
		fence:         newFence(client, opts.Owner, log),
		loadBalancers: loadBalancers{names: names, settings: settings},
		watch:         watch{client: client, names: names, log: log},
		lowering:      intent.NewLowering(intent.MaxRaised),
		moved:         map[string][]string{},
	}, nil
}

// Wake signals changes of logical ports and of the connection. It implements backends.Waker.
func (b *Backend) Wake() <-chan struct{} { return b.client.Wake() }

// Close implements backends.Backend. The client stays open.
func (b *Backend) Close() error { return nil }

// Keep implements backends.Keeper.
func (b *Backend) Keep(objects []object.Ref) {
	b.keep = make(map[object.Ref]bool, len(objects))
	for _, o := range objects {
		b.keep[o] = true
	}
}

// Claim implements backends.Claimer. What other instances wrote in the meantime is not known: the next plan reads back.
func (b *Backend) Claim(ctx context.Context, holder string) (uint64, error) {
	b.model, b.pending = nil, nil
	return b.fence.claim(ctx, holder)
}

// Coverage implements backends.Coverer.
func (b *Backend) Coverage() (backends.Coverage, bool) {
	if c := b.published.Load(); c != nil {
		return *c, true
	}
	return backends.Coverage{}, false
}

// rename makes the backend avoid names that rows of others have.
func (b *Backend) rename(taken []string) {
	slices.Sort(taken)
	b.watch.log.WithField("names", strings.Join(taken, ", ")).Warn("names of our rows are taken by rows of others: ours get other names")
	b.names = b.names.Without(taken)
	b.loadBalancers.names, b.watch.names = b.names, b.names
}

// InForce implements backends.Reader.
func (b *Backend) InForce() (backends.Coverage, bool) {
	if c := b.inForce.Load(); c != nil {
		return *c, true
	}
	return backends.Coverage{}, false
}

// publish sets the coverage of a plan, and that of before it is applied.
func (b *Backend) publish(planned, inForce backends.Coverage) {
	b.published.Store(&planned)
	b.inForce.Store(&inForce)
}

// HasPort implements backends.PortFinder.
func (b *Backend) HasPort(name string) bool {
	_, ok := b.client.Port(name)
	return ok
}

// database returns the target as it is now.
func (b *Backend) database() *database {
	return &database{client: b.client, schema: b.client.Schema(), owner: b.names.Owner}
}

// renderer renders a snapshot for the target. U is what the target has for load balancers while they are unavailable, otherwise nil.
func (b *Backend) renderer(want *intent.Snapshot, schema ovsdb.Schema, u *unavailable) *renderer {
	return &renderer{
		names: b.names, want: want, rate: b.rate, schema: schema, dropsByDefault: b.dropsByDefault, hairpins: b.loadBalancers.settings.Hairpin, unavailable: u,
	}
}
