package ovn

import (
	"github.com/netloom/netloom/backends/ovn/internal/nb"
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
