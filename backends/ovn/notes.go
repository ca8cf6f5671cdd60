package ovn

import (
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
	"github.com/netloom/netloom/pkg/intent"
)

// Notes say which rules share an ACL, besides the one that the ACL names: with the same subject, it names that of the oldest policy, and the
// ACLs of shared groups name none. They are external_ids of an address set without addresses for each namespace, keyed by the ID of the
// policy. A change to the external_ids of an ACL makes ovn-northd recompute all logical flows, a change to those of an address set does not.
//
// What is noted about a policy is a list: for each ACL that is named after another rule, its UUID and the path of the rule, and for each shared
// group, the ID of its set and the path.

// noteSeparator is between the items of a note.
const noteSeparator = "; "

// policiesPrefix begins the ID of a row with the notes of a home, which follows.
const policiesPrefix = "policies/"

const notesTitle = "rules that share ACLs"

// homeOf returns the namespace whose row has the notes about a policy: NAMESPACE, CLUSTER/NAMESPACE, or "" or CLUSTER for those without a
// namespace. A cluster and a namespace of one name share a row, in which their keys differ.
func homeOf(o intent.Origin) string {
	return strings.Trim(o.Cluster+"/"+o.Namespace, "/")
}

// noteOf returns what is noted about a policy, which may be nil; "" is nothing. In returns the group of a subject, nil if there is none.
func noteOf(p *intent.Policy, in func(intent.SetID) groupView) string {
	if p == nil {
		return ""
	}
	var all []string
	for s := range sharesOf(p) {
		all = append(all, string(s.set)+" "+s.rule.Path)
	}
	for _, subject := range subjectsOf(p) {
		g := in(subject)
		if g == nil {
			continue
		}
		if piece := g.piece(p.ID); piece != nil {
			all = append(all, piece.noteItems(g)...)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), noteSeparator)
}

// noteItems lists what is noted about the ACLs of a piece in a group.
func (p *piece) noteItems(g groupView) []string {
	var out []string
	for _, row := range p.rows {
		if users := g.usersOf(row.UUID); users[0] != p && row.ExternalIDs()[nb.KeyRule] != "" {
			out = append(out, row.UUID+" "+row.ExternalIDs()[nb.KeyRule])
		}
		for _, path := range p.also[row.UUID] {
			out = append(out, row.UUID+" "+path)
		}
	}
	return out
}

// notes returns the row with the notes of a home, by the IDs of policies.
func (r *renderer) notes(home string, notes map[string]string) *nb.Row {
	row := r.bareNotes(home)
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: policiesPrefix + home, nb.KeyTitle: notesTitle}
	maps.Copy(ids, notes)
	row.Fields = backends.Fields{"name": row.Name}
	row.Maps = map[string]map[string]string{nb.ColumnExternalIDs: ids}
	row.Sets = map[string][]string{"addresses": nil}
	return row
}

// bareNotes returns the row with the notes of a home without its columns, for mutations.
func (r *renderer) bareNotes(home string) *nb.Row {
	id := policiesPrefix + home
	return &nb.Row{Table: nb.TableAddressSet, UUID: r.names.UUID(nb.TableAddressSet, id), Name: r.names.Notes(id), Origin: notesTitle}
}

// noteEdit is what a plan changes in the notes of a home: notes by the IDs of policies.
type noteEdit struct{ put, cut map[string]string }

// planNotes plans what is noted about the policies that changed, about those that were rendered again because of others, whose ACLs may be others now,
// and about those that give an ACL its name from now on or no longer: at most one op for each of their homes.
func (p *policyPlan) planNotes() {
	about := maps.Clone(p.changed)
	for _, e := range p.groups {
		for id := range e.cut {
			about[id] = true
		}
		for id := range e.put {
			about[id] = true
		}
		for _, id := range e.renamed() {
			about[id] = true
		}
	}
	for id := range about {
		was, is := p.m.policies[id], p.r.want.Policy(id)
		if was != nil {
			home := homeOf(was.Origin)
			if note := p.m.notes[home][string(id)]; note != "" {
				p.notesAt(home).cut[string(id)] = note
			}
		}
		if note := noteOf(is, p.grouped); note != "" {
			p.notesAt(homeOf(is.Origin)).put[string(id)] = note
		}
	}
	for home, e := range p.noteEdits {
		had := len(p.m.notes[home])
		switch left := had - len(e.cut) + len(e.put); {
		case had == 0:
			p.ops = append(p.ops, nb.Create(p.r.notes(home, e.put)))
		case left == 0:
			p.ops = append(p.ops, nb.Delete(p.r.notes(home, nil)))
		default:
			put, cut := nb.Differing(e.put, e.cut), nb.Differing(e.cut, e.put)
			if len(put)+len(cut) > 0 {
				p.ops = append(p.ops, nb.Mutate(p.r.bareNotes(home), nb.ColumnExternalIDs, put, cut))
			}
		}
	}
}

func (p *policyPlan) notesAt(home string) *noteEdit {
	if p.noteEdits[home] == nil {
		p.noteEdits[home] = &noteEdit{map[string]string{}, map[string]string{}}
	}
	return p.noteEdits[home]
}

// putNotes changes the notes of a home in the model.
func (m *model) putNotes(home string, e *noteEdit) {
	if m.notes[home] == nil {
		m.notes[home] = map[string]string{}
	}
	for id := range e.cut {
		delete(m.notes[home], id)
	}
	maps.Copy(m.notes[home], e.put)
	if len(m.notes[home]) == 0 {
		delete(m.notes, home)
	}
}
