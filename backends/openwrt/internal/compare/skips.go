package compare

import (
	"cmp"
	"slices"

	"github.com/netloom/netloom/backends"
)

// InOrder sorts skips and drops duplicates.
func InOrder(skips []backends.Skip) []backends.Skip {
	slices.SortFunc(skips, func(x, y backends.Skip) int {
		return cmp.Or(cmp.Compare(x.Intent, y.Intent), cmp.Compare(x.Reason, y.Reason))
	})
	return slices.Compact(skips)
}
