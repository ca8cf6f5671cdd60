package ovn

import "github.com/netloom/netloom/pkg/intent"

// CountRows counts the ACLs that the policies of an origin become in the database as it is. It asks the database nothing,
// and anybody may call it.
func (b *Backend) CountRows(want *intent.Snapshot, of intent.Origin) int {
	return len(RowsOf(want, b.client.Schema(), "count", of))
}
