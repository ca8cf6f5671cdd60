package lb

import (
	"net/netip"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/ovsdb"
)

// NodePlaceholder is replaced by the name of a node in Settings.NodeSwitch and NodeRouter.
const NodePlaceholder = "{node}"

// Settings determine where load balancers are put and how they work.
type Settings struct {
	Group                  string // the name of the Load_Balancer_Group, and the prefix of the names of further ones
	Switches, Routers      Selection
	Networks               Networks
	NodeSwitch, NodeRouter string        // names with NodePlaceholder
	Hairpin                [2]netip.Addr // of IPv4 and of IPv6
	HashAffinity           bool          // affinity by a hash of the client's address; otherwise clients are remembered for a time
}

// Target is the database that load balancers are written to.
type Target struct {
	Names    nb.Namer
	Schema   ovsdb.Schema // columns that it does not have are left out
	Settings Settings
}

// templates reports whether the database supports values that differ by chassis.
func (t *Target) templates() bool {
	return t.Schema.HasColumn(nb.TableTemplateVars, nb.ColumnVariables)
}

// hairpinOption returns Load_Balancer.options:hairpin_snat_ip.
func (t *Target) hairpinOption() string {
	return t.Settings.Hairpin[0].String() + " " + t.Settings.Hairpin[1].String()
}

// templateVars returns the row of a chassis with our variables. If another owner has created one, uuid is that of
// its row, since a chassis has only one row. "" means a row of our own.
func (t *Target) templateVars(chassis, uuid string, vars map[string]string) *nb.Row {
	out := &nb.Row{
		Table: nb.TableTemplateVars, UUID: uuid, Name: chassis, Origin: "backends by node",
		Fields: backends.Fields{}, Maps: map[string]map[string]string{nb.ColumnVariables: vars},
	}
	if uuid != "" {
		return out
	}
	out.UUID = t.Names.UUID(nb.TableTemplateVars, chassis)
	ids := map[string]string{nb.KeyOwner: t.Names.Owner, nb.KeyID: "chassis/" + chassis, nb.KeyTitle: out.Origin}
	out.Fields = backends.Fields{"chassis": chassis, nb.ColumnExternalIDs: ids}
	nb.Restrict(t.Schema, nb.TableTemplateVars, out.Fields)
	return out
}
