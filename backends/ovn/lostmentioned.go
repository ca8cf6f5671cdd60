package ovn

import (
	"maps"
	"strings"
	"unicode"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// findMentioned checks the objects that only notes name. If one is kept, ACLs that it shares with other policies stay even if no policy wants
// them, and its shared groups keep their ACLs and all their ports, because it is not known which of these are due to the object.
func (l *lost) findMentioned(present map[object.Ref]bool) {
	for uuid, h := range l.have {
		if h.Table != nb.TableAddressSet {
			continue
		}
		for _, m := range mentionsIn(h.ExternalIDs()) {
			ref, ok := refOfOrigin(m.origin)
			if !ok {
				continue
			}
			l.count(ref)
			if present[ref] {
				continue
			}
			if l.keep[ref] {
				l.keepNote(uuid, h, m.key) // also if another policy wants all of it now
				l.acls[m.acl] = true
			}
			switch {
			case m.acl != "" && !l.isUnwanted(m.acl):
			case !l.loses(ref):
			case m.acl != "":
				l.want[m.acl], l.rows[m.acl] = l.have[m.acl], true
			default:
				l.keepShared(m.set)
			}
		}
	}
}

// isUnwanted reports whether a row exists that would go, or stays only because it is kept.
func (l *lost) isUnwanted(uuid string) bool {
	h, w := l.have[uuid], l.want[uuid]
	return h != nil && (w == nil || w == h)
}

// refOfOrigin returns the object that a note names: [CLUSTER/]KIND/[NAMESPACE/]NAME, see intent.Origin. Only kinds begin with a capital.
func refOfOrigin(origin string) (object.Ref, bool) {
	parts := strings.Split(origin, "/")
	if parts[0] == "" || !unicode.IsUpper(rune(parts[0][0])) {
		parts = parts[1:] // the cluster
	}
	const clusterWide, namespaced = 2, 3
	switch len(parts) {
	case clusterWide:
		return object.Ref{Kind: parts[0], Name: parts[1]}, true
	case namespaced:
		return object.Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, true
	default:
		return object.Ref{}, false
	}
}

// keepNote keeps what a row notes under a key.
func (l *lost) keepNote(uuid string, h *nb.Row, key string) {
	w := l.want[uuid]
	if w == nil {
		kept := *h
		ids := maps.Clone(h.ExternalIDs())
		maps.DeleteFunc(ids, func(key, _ string) bool { return isMention(key) })
		kept.Maps = map[string]map[string]string{nb.ColumnExternalIDs: ids}
		w = &kept
		l.want.Put(w)
	}
	w.ExternalIDs()[key] = h.ExternalIDs()[key]
}

// keepShared keeps a shared group.
func (l *lost) keepShared(set intent.SetID) {
	pg := l.have[l.names.UUID(nb.TablePortGroup, string(set))]
	if pg == nil {
		return
	}
	for _, acl := range pg.Sets["acls"] {
		l.acls[acl] = true
	}
	if wanted := l.want[pg.UUID]; wanted != nil {
		wanted.Sets["ports"] = united(wanted.Sets["ports"], pg.Sets["ports"])
		return
	}
	l.want.Put(withSets(pg, map[string][]string{"ports": pg.Sets["ports"], "acls": pg.Sets["acls"]}))
	for _, acl := range pg.Sets["acls"] {
		if have := l.have[acl]; have != nil {
			l.want[acl] = have
		}
	}
}
