package answerstest

import (
	"net/netip"

	"github.com/netloom/netloom/pkg/intent"
)

// Branch is the scope of the CNFs.
var Branch = intent.Scope{Namespace: "branch", Purpose: "edge"}

// CNFs is a snapshot with CNFs and device intents.
func CNFs(specs map[string]intent.DeviceSpec) *intent.Snapshot {
	b := intent.NewSnapshot().Next()
	b.PutCNF(&intent.CNF{
		ID: "branch/cnf-0", Origin: intent.Origin{Kind: "Pod", Namespace: "branch", Name: "cnf-0"}, Scope: Branch,
		Group: "StatefulSet/cnf", Node: "n1", Addr: netip.MustParseAddr("10.0.0.1"), Ready: true,
		Networks: map[string]string{"wan": "net1"},
	})
	b.PutCNF(&intent.CNF{ID: "branch/cnf-1", Scope: Branch, Conflict: "two have the purpose"})
	b.PutCNF(&intent.CNF{ID: "branch/cnf-2", Scope: Branch, Leaving: true})
	b.PutCNF(&intent.CNF{ID: "branch/cnf-3", Scope: Branch})
	for name, spec := range specs {
		origin := intent.Origin{Kind: "Thing", Namespace: "branch", Name: name}
		b.PutDeviceIntent(&intent.DeviceIntent{ID: intent.NewDeviceIntentID(Branch, origin, ""), Scope: Branch, Origin: origin, Generation: 3, Spec: spec})
	}
	return b.Commit()
}
