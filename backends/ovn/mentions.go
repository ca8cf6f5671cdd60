package ovn

import (
	"maps"
	"slices"
	"strings"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// groupPrefix begins the ID of a row with notes of earlier versions, which had one for each group; the ID of its set follows. They are read
// until the first plan has replaced them. A key is the UUID of an ACL, whose further rules follow as ORIGIN PATH, or, in a shared group, the
// origin of a policy, whose paths follow.
const groupPrefix = "notes/"

// mention is one thing that notes say: a rule that the ACLs of a shared group stand for, or an ACL that names another.
type mention struct {
	key    string       // of external_ids
	origin string       // the object, as Origin.String has it
	path   string       // of the rule
	set    intent.SetID // of the shared group; "" for an ACL
	acl    string       // its UUID; "" for a shared group
}

// rule returns the mentioned rule: ORIGIN PATH.
func (m *mention) rule() string { return m.origin + " " + m.path }

// mentionsIn returns what external_ids mention, in the order of their keys; nil if they are not of notes.
func mentionsIn(ids map[string]string) []mention {
	byPolicy := strings.HasPrefix(ids[nb.KeyID], policiesPrefix)
	group, byGroup := strings.CutPrefix(ids[nb.KeyID], groupPrefix)
	if !byPolicy && !byGroup {
		return nil
	}
	var out []mention
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		if !isMention(key) {
			continue
		}
		for item := range strings.SplitSeq(ids[key], noteSeparator) {
			first, rest, _ := strings.Cut(item, " ")
			m := mention{key: key, origin: key, path: item, set: intent.SetID(group)}
			switch {
			case byPolicy:
				m.origin, m.path = key[:max(strings.LastIndex(key, "/"), 0)], rest // without the direction, see intent.NewPolicyID
				m.set = intent.SetID(first)
				if libovsdb.IsValidUUID(first) {
					m.set, m.acl = "", first
				}
			case libovsdb.IsValidUUID(key):
				m.origin, m.path, m.set, m.acl = first, rest, "", key
			}
			out = append(out, m)
		}
	}
	return out
}

// isMention reports whether a key of the external_ids of notes is one of a note. A cluster may have the name that our other keys begin with.
func isMention(key string) bool {
	return !strings.HasPrefix(key, nb.KeyPrefix) || strings.Count(key, "/") > 1
}

// mentioned is what notes say: the rules of each ACL, besides the one that it names, by its UUID, or those of a shared group by the name of
// the port group. Even earlier versions wrote the note into the ACL itself.
type mentioned map[string][]string

// acl adds what an ACL notes itself.
func (n mentioned) acl(uuid string, ids map[string]string) {
	if also := ids[nb.KeyAlso]; also != "" {
		n[uuid] = strings.Split(also, noteSeparator)
	}
}

// of lists the rules of an ACL besides the one that it names.
func (n mentioned) of(uuid, match string) []string {
	also, ok := n[uuid]
	if group := symbol.FindStringSubmatch(match); !ok && group != nil {
		also = n[nb.Plain(group[1])]
	}
	return slices.Sorted(slices.Values(also))
}

// addressSet adds the notes in an address set, if it has any.
func (n mentioned) addressSet(ids map[string]string) {
	names := nb.NewNamer(ids[nb.KeyOwner])
	for _, m := range mentionsIn(ids) {
		about := m.acl
		if about == "" {
			about = names.PortGroup(m.set)
		}
		n[about] = append(n[about], m.rule())
	}
}

// mentionedIn returns the notes in rows.
func mentionedIn(rows nb.Rows) mentioned {
	out := mentioned{}
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
