package ovn

import (
	"github.com/netloom/netloom/backends/ovn/internal/nb"
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
}

// NewExplainer returns an Explainer for databases with that schema.
func NewExplainer(schema ovsdb.Schema, n Naming) *Explainer {
	return &Explainer{schema: schema, naming: n, names: nb.NewNamer(n.Owner)}
}
