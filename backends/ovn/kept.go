package ovn

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// kept is what stands in the database for load balancers while nothing is known of them. It stays as it is.
type kept struct {
	rows     int             // how many rows of ours there are, ACLs aside
	balances bool            // load balancers are among them
	hairpins nb.Rows         // the ACLs by which isolated pods reach themselves through load balancers, by UUID
	bars     map[string]bool // the ACLs that keep sources away, by UUID
}

// isUnknown says whether a snapshot knows nothing of load balancers.
func isUnknown(want *intent.Snapshot) bool { return want.Unknown().Has(intent.AreaBalancers) }

// readKept reads back what stands for load balancers.
func (b *Backend) readKept(ctx context.Context, schema ovsdb.Schema) (*kept, error) {
	around, err := b.surround(ctx, schema)
	if err != nil {
		return nil, err
	}
	acls, err := b.read(ctx, schema, nb.TableACL, ovsdb.WithExternalID(map[string]string{nb.KeyOwner: b.names.Owner}))
	if err != nil {
		return nil, err
	}
	k := &kept{rows: (&fullBalance{around: around}).owned(), hairpins: nb.Rows{}, bars: map[string]bool{}}
	for _, r := range around.ours {
		k.balances = k.balances || r.Table == nb.TableLoadBalancer
	}
	for _, native := range acls {
		acl := nb.Decode(nb.TableACL, native)
		ids := acl.ExternalIDs()
		switch {
		case ids[nb.KeyRule] == sourceRanges:
			k.bars[acl.UUID] = true
		case strings.HasPrefix(ids[nb.KeyTitle], nb.OriginHairpin):
			acl.Unit = b.names.PortGroup(intent.IsolatedIngress)
			k.hairpins[acl.UUID] = acl
		}
	}
	return k, nil
}

// keepHairpins has isolated pods reach themselves as they did. Pods that are the first to be isolated reach themselves
// through what load balancers there are.
func (r *renderer) keepHairpins(g *group, subject string) {
	maps.Copy(g.acls, r.kept.hairpins)
	if len(r.kept.hairpins) == 0 && r.kept.balances {
		r.hairpin(g, subject)
	}
}

// planRest is a full plan of all but load balancers, of which nothing is known.
func (b *Backend) planRest(ctx context.Context, r *renderer, next *model) (*backends.Plan, error) {
	var err error
	if next.kept, err = b.readKept(ctx, r.schema); err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	r.kept = next.kept
	rows := b.renderAll(r, next)
	have, err := b.readBack(ctx, r.schema, rows)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	b.coverAll(r, next, rows, have)
	owned := len(have) + r.kept.rows
	maps.DeleteFunc(have, func(uuid string, _ *nb.Row) bool { return r.kept.bars[uuid] })
	lost := b.findLost(r, rows, have)
	return b.proposeAll(r, next, lost, nb.Diff(rows, have), nil, owned, func() {}), nil
}

// size is how many rows stand, those of groups aside.
func (k *kept) size() int {
	if k == nil {
		return 0
	}
	return k.rows + len(k.bars)
}
