package nb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/netloom/netloom/pkg/intent"
)

// The tables with our rows.
const (
	TableACL               = "ACL"
	TableAddressSet        = "Address_Set"
	TableLoadBalancer      = "Load_Balancer"
	TableLoadBalancerGroup = "Load_Balancer_Group"
	TableMeter             = "Meter"
	TableMeterBand         = "Meter_Band"
	TablePortGroup         = "Port_Group"
	TableTemplateVars      = "Chassis_Template_Var"
)

// The tables of others whose rows refer to our rows.
const (
	TableRouter = "Logical_Router"
	TableSwitch = "Logical_Switch"
)

// The external_ids that our rows carry, and those that lead an ACL or a load balancer back to its source.
const (
	KeyPrefix    = "netloom.io/" // of all of them
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
	KeyAlso      = "netloom.io/also" // in ACLs of earlier versions: further policies and rules that share the row
	KeyScope     = "netloom.io/scope"
	KeyHealth    = "netloom.io/health-check-port"
)

// MaxACLName is the longest ACL.name (ovn-nb.ovsschema).
const MaxACLName = 63

// Namer derives the names and UUIDs of rows from the owner and what the row represents.
type Namer struct {
	Owner string
	space uuid.UUID
	taken map[string]bool // names of rows of others; it is never changed
}

// NewNamer returns a Namer for the rows of an owner.
func NewNamer(owner string) Namer {
	root := uuid.NewSHA1(uuid.NameSpaceDNS, []byte("ovn.backends.netloom.io"))
	return Namer{Owner: owner, space: uuid.NewSHA1(root, []byte(owner))}
}

// Without returns a Namer that also avoids names that rows of others have.
func (n Namer) Without(taken []string) Namer {
	all := maps.Clone(n.taken)
	if all == nil {
		all = map[string]bool{}
	}
	for _, name := range taken {
		all[name] = true
	}
	n.taken = all
	return n
}

// free returns a name or, if it is taken, the first variant with a number appended that is free.
func (n Namer) free(name string) string {
	out := name
	for i := 2; n.taken[out]; i++ {
		out = name + numberMark + strconv.Itoa(i)
	}
	return out
}

// numberMark precedes the number of a name that replaces a taken one. No other name contains it.
const numberMark = "_n"

// Plain returns a name as it is if it is not taken.
func Plain(name string) string {
	plain, _, _ := strings.Cut(name, numberMark)
	return plain
}

// UUID returns the row's UUID, which is always the same for the same owner, table and id.
func (n Namer) UUID(table, id string) string {
	return uuid.NewSHA1(n.space, []byte(table+"\x00"+id)).String()
}

// Symbol returns a name that a match expression can refer to: [a-zA-Z_.][a-zA-Z_.0-9]* (ovn-nb(5)). Owner and id are
// hashed, so that different ones never collide.
func (n Namer) Symbol(kind, id string) string {
	sum := sha256.Sum256([]byte(n.Owner + "\x00" + id))
	return kind + "_" + hex.EncodeToString(sum[:16])
}

// PortGroup returns the name of the port group of a set.
func (n Namer) PortGroup(set intent.SetID) string { return n.free(n.Symbol("nlpg", string(set))) }

// AddressSet returns the name of the address set of a set, for one family.
func (n Namer) AddressSet(set intent.SetID, f intent.Families) string {
	return n.free(n.Symbol("nlas", string(set)) + "_" + FamilyName(f))
}

// Notes returns the name of an address set with notes.
func (n Namer) Notes(id string) string { return n.free(n.Symbol("nlnotes", id)) }

// Meter returns the name of the meter that limits logging to a rate, in lines per second.
func (n Namer) Meter(rate uint32) string { return n.free(n.Symbol("nlmeter", fmt.Sprint(rate))) }

// Variable returns the name of a template variable: it has to be a symbol too. Its prefix identifies ours.
func (n Namer) Variable(id string) string { return n.Symbol(n.Variables(), id) }

// Variables returns what the names of all template variables of the owner start with.
func (n Namer) Variables() string {
	sum := sha256.Sum256([]byte(n.Owner))
	return "nlv_" + hex.EncodeToString(sum[:4])
}

// FamilyName returns the suffix of an address set for its family: v4 or v6.
func FamilyName(f intent.Families) string {
	if f == intent.IPv6 {
		return "v6"
	}
	return "v4"
}

// ACLName returns what OVN writes into its log for the ACL. A name that is too long keeps its start and gets a hash, so
// that two long names stay different.
func ACLName(s string) string {
	if len(s) <= MaxACLName {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "~" + hex.EncodeToString(sum[:5])
	head := s[:MaxACLName-len(tail)]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	return head + tail
}

// RuleName returns the name of an ACL for a rule of a source object.
func RuleName(o intent.Origin, rule string) string { return ACLName(ObjectName(o) + " " + rule) }

// ObjectName returns the name of a source object, with its namespace if it has one.
func ObjectName(o intent.Origin) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// OriginIDs returns the external_ids that lead back to a rule of a source object.
func OriginIDs(o intent.Origin, d intent.Direction, rule string) map[string]string {
	ids := SourceIDs(o)
	ids[KeyDirection] = d.String()
	if rule != "" {
		ids[KeyRule] = rule
	}
	return ids
}

// SourceIDs returns the external_ids that lead back to a source object.
func SourceIDs(o intent.Origin) map[string]string {
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

// ShortRule returns a rule's path without what the direction already implies: "ingress[0]" for "spec.ingress[0]".
func ShortRule(path string) string { return strings.TrimPrefix(path, "spec.") }
