package ovn

import "github.com/netloom/netloom/backends/ovn/internal/nb"

// The external_ids that show others what our rows are for: the owner, the ID and the title of the row, and the object
// and the rule that it came from.
const (
	KeyOwner     = nb.KeyOwner
	KeyID        = nb.KeyID
	KeyTitle     = nb.KeyTitle
	KeyKind      = nb.KeyKind
	KeyNamespace = nb.KeyNamespace
	KeyName      = nb.KeyName
	KeyRule      = nb.KeyRule
)
