package ovn

import (
	"sync"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Naming is what the UUIDs of rows depend on, besides what they do.
type Naming struct {
	Owner string
	Rate  uint32 // lines per second of audit logs without a rate of their own; 0 means no limit
}

// Explainer explains which rows policies become in a database, without querying one. Create it with NewExplainer.
type Explainer struct {
	schema ovsdb.Schema
	naming Naming
	names  nb.Namer

	mu            sync.Mutex
	from, lowered *intent.Snapshot // the last snapshot that was lowered, and its lowered form
}

// counter is the Explainer by which rows are counted, for the schema of one connection. The zero value has none yet.
type counter struct {
	mu        sync.Mutex
	epoch     uint64
	explainer *Explainer
}

// explainer returns the Explainer for the database. It may be called by any goroutine.
func (b *Backend) explainer() *Explainer {
	c := &b.counter
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch := b.client.Epoch(); c.explainer == nil || c.epoch != epoch {
		c.epoch, c.explainer = epoch, NewExplainer(b.client.Schema(), Naming{Owner: b.names.Owner})
	}
	return c.explainer
}

// Terms implements backends.Explainer.
func (e *Explainer) Terms() (target, row string) { return "OVN", "ACL" }

// asRendered returns the snapshot that is rendered for want: without tiers in the schema, its lowered form.
func (e *Explainer) asRendered(want *intent.Snapshot) *intent.Snapshot {
	if hasTiers(e.schema) {
		return want
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.from != want {
		e.from, e.lowered = want, intent.Lower(want, intent.MaxRaised)
	}
	return e.lowered
}

// NewExplainer returns an Explainer for databases with that schema.
func NewExplainer(schema ovsdb.Schema, n Naming) *Explainer {
	return &Explainer{schema: schema, naming: n, names: nb.NewNamer(n.Owner)}
}
