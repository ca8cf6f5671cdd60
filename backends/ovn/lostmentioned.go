package ovn

import (
	"maps"
	"strings"

	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
)

// findMentioned checks the objects that only notes name. For one that is kept, the ACLs that it has in common with others stay if nobody wants
// them, and its shared groups keep their ACLs and all of their ports: which of these are due to the object is not known.
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
			if present[ref] || m.acl != "" && !l.isUnwanted(m.acl) || !l.loses(ref) {
				continue
			}
			l.keepNote(uuid, h, m.key)
			if m.acl != "" {
				l.want[m.acl], l.rows[m.acl] = l.have[m.acl], true
			} else {
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

// refOfOrigin returns the object that a note names: [CLUSTER/]KIND/NAMESPACE/NAME.
func refOfOrigin(origin string) (object.Ref, bool) {
	parts := strings.Split(origin, "/")
	const named = 3
	if len(parts) < named {
		return object.Ref{}, false
	}
	parts = parts[len(parts)-named:]
	return object.Ref{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, true
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
