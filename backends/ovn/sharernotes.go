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

// The ACLs of a shared group name no rule. Which rules they stand for is in the notes of each namespace: external_ids of an address set without
// addresses, keyed by the ID of the policy. A policy that comes, goes or shares something else changes one row, in however many groups it
// has rules.
//
// Earlier versions had notes for each shared group, in the row with the notes about its ACLs, keyed by the origin of the policy. They are
// read until the first plan has replaced them.

// sharersPrefix begins the ID of a row with the notes of a namespace; its home follows.
const sharersPrefix = "sharers/"

const sharersTitle = "rules in shared ACLs"

// homeOf returns what policies are noted together for: NAMESPACE, CLUSTER/NAMESPACE, or "" or CLUSTER for those without a namespace.
func homeOf(o intent.Origin) string {
	return strings.Trim(o.Cluster+"/"+o.Namespace, "/")
}

// noteOf returns what is noted about a policy: the shared groups in which it has rules, each as SET PATH; "" if there are none.
func noteOf(p *intent.Policy) string {
	if p == nil {
		return ""
	}
	var all []string
	for s := range sharesOf(p) {
		all = append(all, string(s.set)+" "+s.rule.Path)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), noteSeparator)
}

// isSharer reports whether something is noted about a policy.
func isSharer(p *intent.Policy) bool {
	for range sharesOf(p) {
		return true
	}
	return false
}

// notesOf returns what is noted about policies, by their IDs.
func notesOf(policies map[intent.PolicyID]*intent.Policy) map[string]string {
	out := make(map[string]string, len(policies))
	for id, p := range policies {
		out[string(id)] = noteOf(p)
	}
	return out
}

// sharerNotes returns the row with the notes of a home: notes by the IDs of the policies.
func (r *renderer) sharerNotes(home string, notes map[string]string) *nb.Row {
	row := r.bareSharerNotes(home)
	ids := map[string]string{nb.KeyOwner: r.names.Owner, nb.KeyID: sharersPrefix + home, nb.KeyTitle: sharersTitle}
	maps.Copy(ids, notes)
	row.Fields = backends.Fields{"name": row.Name}
	row.Maps = map[string]map[string]string{nb.ColumnExternalIDs: ids}
	row.Sets = map[string][]string{"addresses": nil}
	return row
}

// bareSharerNotes returns the row with the notes of a home without its columns, for mutations.
func (r *renderer) bareSharerNotes(home string) *nb.Row {
	id := sharersPrefix + home
	return &nb.Row{
		Table: nb.TableAddressSet, UUID: r.names.UUID(nb.TableAddressSet, id), Name: r.names.Notes(intent.SetID(id)), Origin: sharersTitle,
	}
}

// isPolicyKey reports whether a key of external_ids of notes is about a policy.
func isPolicyKey(key string) bool {
	return !libovsdb.IsValidUUID(key) && !strings.HasPrefix(key, nb.KeyPrefix)
}

// sharing is one thing that notes say: a rule that shared ACLs stand for.
type sharing struct {
	key    string // of external_ids
	origin string // the object, as Origin.String has it
	set    intent.SetID
	path   string // of the rule
}

// sharingsIn returns what notes say about shared groups, in the order of their keys; nil if the external_ids are of another row.
func sharingsIn(ids map[string]string) []sharing {
	byHome := strings.HasPrefix(ids[nb.KeyID], sharersPrefix)
	group, byGroup := strings.CutPrefix(ids[nb.KeyID], notesPrefix)
	if !byHome && !byGroup {
		return nil
	}
	var out []sharing
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		if !isPolicyKey(key) {
			continue
		}
		for note := range strings.SplitSeq(ids[key], noteSeparator) {
			s := sharing{key: key, origin: key, set: intent.SetID(group), path: note}
			if byHome {
				s.origin = key[:max(strings.LastIndex(key, "/"), 0)] // without the direction, see intent.NewPolicyID
				set, path, _ := strings.Cut(note, " ")
				s.set, s.path = intent.SetID(set), path
			}
			out = append(out, s)
		}
	}
	return out
}
