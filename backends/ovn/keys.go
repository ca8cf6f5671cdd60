package ovn

import "github.com/netloom/netloom/backends/ovn/internal/nb"

// The external_ids that show others what our rows are for: the owner, the ID and the title of the row, the object and
// the rule that it came from, and further ones that share it.
const (
	KeyOwner     = nb.KeyOwner
	KeyID        = nb.KeyID
	KeyTitle     = nb.KeyTitle
	KeyKind      = nb.KeyKind
	KeyNamespace = nb.KeyNamespace
	KeyName      = nb.KeyName
	KeyRule      = nb.KeyRule
	KeyAlso      = nb.KeyAlso
)
