package probe

import (
	"github.com/netloom/netloom/pkg/intent"
)

// Row is a row of a data plane, such as an ACL of OVN.
type Row struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
	For   string `json:"for"` // its purpose, such as NetworkPolicy/shop/db spec.ingress[0]
}

// RowNamer names the rows by which a data plane decides on a flow in one direction. These are the rows of the rules that
// let the flow pass or, if there are none, of the policies that isolate.
type RowNamer func(f *intent.Flow, d intent.Direction, by []intent.RuleRef) []Row
