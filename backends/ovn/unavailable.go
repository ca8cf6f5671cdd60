package ovn

import (
	"context"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/lb"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// unavailable is what the database has for load balancers while those of the snapshot are unavailable. It stays as it is.
// Nil means none: load balancers are available.
type unavailable struct {
	rows          int     // the number of our rows, except ACLs
	loadBalancers int     // how many of them are load balancers
	hairpins      nb.Rows // the ACLs of the isolated group by which pods reach themselves through load balancers
	sources       nb.Rows // the ACLs that deny sources
}

// isUnavailable reports whether the load balancers of a snapshot are unavailable.
func isUnavailable(want *intent.Snapshot) bool { return want.Unknown().Has(intent.AreaBalancers) }

// readUnavailable reads back what the database has for load balancers.
func readUnavailable(ctx context.Context, db *database, t *lb.Target) (*unavailable, error) {
	rows, err := db.read(ctx, nil, nb.LoadBalancerTables()...)
	if err != nil {
		return nil, err
	}
	acls, err := db.read(ctx, db.marked(), nb.TableACL)
	if err != nil {
		return nil, err
	}
	u := &unavailable{hairpins: nb.Rows{}, sources: nb.Rows{}}
	isolated := t.Names.PortGroup(intent.IsolatedIngress)
	u.rows, u.loadBalancers = t.Find(rows).Owned()
	for _, acl := range acls {
		switch ids := acl.ExternalIDs(); {
		case ids[nb.KeyRule] == lb.SourceRanges:
			u.sources.Put(acl)
		case isHairpin(acl, isolated):
			acl.Unit = isolated
			u.hairpins.Put(acl)
		}
	}
	return u, nil
}

// isHairpin reports whether an ACL that was read lets the ports of a group reach themselves through load balancers. Groups of
// policies that deny have such ACLs too, which follow from their policies.
func isHairpin(acl *nb.Row, group string) bool {
	return strings.HasPrefix(acl.ExternalIDs()[nb.KeyTitle], nb.OriginHairpin) &&
		strings.HasPrefix(acl.Match(), subjectMatch(intent.Ingress, group)+" ")
}

// size returns how many rows there are, except those of groups.
func (u *unavailable) size() int {
	if u == nil {
		return 0
	}
	return u.rows + len(u.sources)
}
