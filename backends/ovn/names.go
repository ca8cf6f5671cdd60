package ovn

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/netloom/netloom/pkg/intent"
)

// The tables that hold rows of ours.
const (
	tableACL          = "ACL"
	tableAddressSet   = "Address_Set"
	tableBalancer     = "Load_Balancer"
	tableBalancers    = "Load_Balancer_Group"
	tableMeter        = "Meter"
	tableMeterBand    = "Meter_Band"
	tablePortGroup    = "Port_Group"
	tableTemplateVars = "Chassis_Template_Var"
)

// The tables whose rows are others' and refer to rows of ours.
const (
	tableRouter = "Logical_Router"
	tableSwitch = "Logical_Switch"
)

// The external_ids that rows of ours carry, and those that lead an ACL or a load balancer back to its source.
const (
	KeyOwner     = "netloom.io/owner"
	KeyID        = "netloom.io/id"
	KeyTitle     = "netloom.io/title"
	KeyCluster   = "netloom.io/cluster"
	KeyKind      = "netloom.io/kind"
	KeyNamespace = "netloom.io/namespace"
	KeyName      = "netloom.io/name"
	KeyUID       = "netloom.io/uid"
	KeyDirection = "netloom.io/direction"
	KeyRule      = "netloom.io/rule"
	KeyAlso      = "netloom.io/also" // further policies and rules that share the row
	KeyScope     = "netloom.io/scope"
	KeyHealth    = "netloom.io/health-check-port"
)

// maxACLName is the longest ACL.name (ovn-nb.ovsschema).
const maxACLName = 63

// namer derives the names and UUIDs of rows from the owner and what the row stands for.
type namer struct {
	owner string
	space uuid.UUID
}

func newNamer(owner string) namer {
	root := uuid.NewSHA1(uuid.NameSpaceDNS, []byte("ovn.backends.netloom.io"))
	return namer{owner: owner, space: uuid.NewSHA1(root, []byte(owner))}
}

// uuid is the row's UUID: the same for the same owner, table and id for ever.
func (n namer) uuid(table, id string) string {
	return uuid.NewSHA1(n.space, []byte(table+"\x00"+id)).String()
}

// symbol is a name that a match expression can refer to: [a-zA-Z_.][a-zA-Z_.0-9]* (ovn-nb(5)). Owner and id are hashed,
// so that different ones never meet.
func (n namer) symbol(kind, id string) string {
	sum := sha256.Sum256([]byte(n.owner + "\x00" + id))
	return kind + "_" + hex.EncodeToString(sum[:16])
}

func (n namer) portGroup(set intent.SetID) string { return n.symbol("nlpg", string(set)) }

func (n namer) addressSet(set intent.SetID, f intent.Families) string {
	return n.symbol("nlas", string(set)) + "_" + familyName(f)
}

func (n namer) meter(rate uint32) string { return n.symbol("nlmeter", fmt.Sprint(rate)) }

// variable is the name of a template variable: it has to be a symbol too. What variables starts with tells ours apart.
func (n namer) variable(id string) string { return n.symbol(n.variables(), id) }

// variables is what the names of all template variables of the owner start with.
func (n namer) variables() string {
	sum := sha256.Sum256([]byte(n.owner))
	return "nlv_" + hex.EncodeToString(sum[:4])
}

func familyName(f intent.Families) string {
	if f == intent.IPv6 {
		return "v6"
	}
	return "v4"
}

// aclName is what OVN writes into its log for the ACL. A name that is too long keeps its start and gets a hash, so that
// two long names stay different.
func aclName(s string) string {
	if len(s) <= maxACLName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "~" + hex.EncodeToString(sum[:5])
	head := s[:maxACLName-len(tail)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + tail
}

// originIDs are the external_ids that lead back to a rule of a source object.
func originIDs(o intent.Origin, d intent.Direction, rule string) map[string]string {
	ids := sourceIDs(o)
	ids[KeyDirection] = d.String()
	if rule != "" {
		ids[KeyRule] = rule
	}
	return ids
}

// sourceIDs are the external_ids that lead back to a source object.
func sourceIDs(o intent.Origin) map[string]string {
	ids := map[string]string{
		KeyKind: o.Kind, KeyNamespace: o.Namespace, KeyName: o.Name, KeyUID: o.UID, KeyCluster: o.Cluster,
	}
	for k, v := range ids {
		if v == "" {
			delete(ids, k)
		}
	}
	return ids
}

// shortRule is a rule's path without what the direction says already: "ingress[0]" for "spec.ingress[0]".
func shortRule(path string) string { return strings.TrimPrefix(path, "spec.") }
