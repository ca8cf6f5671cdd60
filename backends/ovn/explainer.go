package ovn

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// Naming is what the UUIDs of rows depend on, beside what they do.
type Naming struct {
	Owner string
	Rate  uint32 // lines per second of audit logs that name no rate; 0 is no limit
}

// Explainer says what policies become in a database, which it does not ask. Make it with NewExplainer.
type Explainer struct {
	schema ovsdb.Schema
	naming Naming
	names  nb.Namer
}

// NewExplainer explains a database with that schema.
func NewExplainer(schema ovsdb.Schema, n Naming) *Explainer {
	return &Explainer{schema: schema, naming: n, names: nb.NewNamer(n.Owner)}
}

// PolicyRows implements backends.Explainer. The rows are ACLs.
func (e *Explainer) PolicyRows(want *intent.Snapshot, of intent.Origin) []backends.PolicyRow {
	return rowsOf(want, e.schema, e.names, of)
}

// CountRows implements backends.RowCounter. It counts ACLs.
func (b *Backend) CountRows(want *intent.Snapshot, of intent.Origin) int {
	return len(rowsOf(want, b.client.Schema(), b.names, of))
}

// HasPort implements backends.PortFinder.
func (b *Backend) HasPort(name string) bool {
	_, ok := b.client.Port(name)
	return ok
}
