package ovn

import (
	"maps"
	"slices"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/object"
)

// keptRows are rows that stay because of kept objects, as the last plan from read-back left them: those that are not rendered, and those with
// more elements than are rendered. Every plan is one from read-back while there are any. The zero value has none.
type keptRows struct {
	of   map[object.Ref]bool // the objects that were to be kept then
	rows nb.Rows
	lbs  bool // load balancers are among them, and switches and routers refer to these
}

// keepRows returns what a plan keeps: what it wants besides the rows that were rendered, and the rows that refer to others.
func keepRows(keep map[object.Ref]bool, rendered map[string]bool, want nb.Rows) keptRows {
	if len(keep) == 0 {
		return keptRows{}
	}
	k := keptRows{of: maps.Clone(keep), rows: nb.Rows{}}
	for uuid, w := range want {
		notes := w.Table == nb.TableAddressSet && len(mentionsIn(w.ExternalIDs())) > 0
		if !rendered[uuid] || notes || w.Table == nb.TablePortGroup || w.Table == nb.TableLoadBalancerGroup {
			k.rows[uuid] = w
			k.lbs = k.lbs || w.Table == nb.TableLoadBalancer
		}
	}
	return k
}

// allow reports whether rows can be repaired one by one while some objects are to be kept.
func (k *keptRows) allow(keep map[object.Ref]bool) bool {
	return len(keep) == 0 || !k.lbs && maps.Equal(keep, k.of)
}

// replace puts kept rows in place of rendered ones, and adds those of some UUIDs, and groups of which ACLs are gone.
func (k *keptRows) replace(rendered nb.Rows, uuids, gone map[string]bool) {
	for uuid, row := range k.rows {
		again := slices.ContainsFunc(row.Set("acls"), func(acl string) bool { return gone[acl] })
		if again || uuids[uuid] || rendered[uuid] != nil {
			rendered[uuid] = row
		}
	}
}
