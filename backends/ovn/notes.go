package ovn

import (
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// Notes say which rules share an ACL, besides the one that the ACL names. Those of a port group are external_ids of an address set
// without addresses, keyed by the UUID of the ACL: a change to the external_ids of an ACL makes ovn-northd recompute all logical
// flows, a change to those of an address set does not.
// See sharernotes.go for the ACLs of shared groups, which name no rule.

// noteSeparator is between the rules of a note.
const noteSeparator = "; "

// notesPrefix begins the ID of a row with notes; that of the set follows.
const notesPrefix = "notes/"

const notesTitle = "rules that share ACLs"

// notes returns the row with the notes of a group, none if it has no shared ACL.
func (r *renderer) notes(g *group) []*nb.Row {
	if len(g.also) == 0 {
		return nil
	}
	row := r.bareNotes(g.subject)
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: notesPrefix + string(g.subject), nb.KeyTitle: notesTitle}
	for acl, also := range g.also {
		ids[acl] = strings.Join(slices.Sorted(maps.Keys(also)), noteSeparator)
	}
	row.Fields = backends.Fields{"name": row.Name}
	row.Maps = map[string]map[string]string{nb.ColumnExternalIDs: ids}
	row.Sets = map[string][]string{"addresses": nil}
	return []*nb.Row{row}
}

// bareNotes returns the row with the notes of a group without its columns, for mutations.
func (r *renderer) bareNotes(subject intent.SetID) *nb.Row {
	return &nb.Row{
		Table: nb.TableAddressSet, UUID: r.names.UUID(nb.TableAddressSet, notesPrefix+string(subject)), Name: r.names.Notes(subject),
		Origin: notesTitle,
	}
}

// noted is what notes say: the rules of each ACL, besides the one that it names, by its UUID, or those of a shared group by the name of
// the port group. Earlier versions wrote the note into the ACL itself.
type noted map[string][]string

// acl adds what an ACL notes itself.
func (n noted) acl(uuid string, ids map[string]string) {
	if also := ids[nb.KeyAlso]; also != "" {
		n[uuid] = strings.Split(also, noteSeparator)
	}
}

// of lists the rules of an ACL besides the one that it names.
func (n noted) of(uuid, match string) []string {
	if also, ok := n[uuid]; ok {
		return also
	}
	if group := symbol.FindStringSubmatch(match); group != nil {
		return n[nb.Plain(group[1])]
	}
	return nil
}

// addressSet adds the notes in an address set, if it has any.
func (n noted) addressSet(ids map[string]string) {
	if strings.HasPrefix(ids[nb.KeyID], notesPrefix) {
		for key, also := range ids {
			if libovsdb.IsValidUUID(key) {
				n[key] = strings.Split(also, noteSeparator)
			}
		}
	}
	names := nb.NewNamer(ids[nb.KeyOwner])
	for _, s := range sharingsIn(ids) {
		group := names.PortGroup(s.set)
		n[group] = append(n[group], s.origin+" "+s.path)
	}
}

// notedIn returns the notes in rows.
func notedIn(rows nb.Rows) noted {
	out := noted{}
	for uuid, row := range rows {
		switch row.Table {
		case nb.TableACL:
			out.acl(uuid, row.ExternalIDs())
		case nb.TableAddressSet:
			out.addressSet(row.ExternalIDs())
		}
	}
	return out
}

// keepNotes keeps the notes about ACLs that are kept.
func (l *lost) keepNotes() {
	for uuid, h := range l.have {
		if h.Table != nb.TableAddressSet || !strings.HasPrefix(h.ExternalIDs()[nb.KeyID], notesPrefix) {
			continue
		}
		about := map[string]string{}
		for key, also := range h.ExternalIDs() {
			if acl := l.have[key]; acl != nil && l.want[key] == acl {
				about[key] = also
			}
		}
		switch w := l.want[uuid]; {
		case len(about) == 0:
		case w == nil:
			l.want[uuid] = h
		default:
			maps.Copy(w.ExternalIDs(), about)
		}
	}
}
