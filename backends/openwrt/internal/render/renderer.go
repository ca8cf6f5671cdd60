package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/openwrt"
)

// renderer turns the device intents of one CNF into objects.
type renderer struct {
	names   section.Namer
	cnf     *intent.CNF
	want    *intent.Snapshot
	secrets map[intent.SecretRef]Secret
	guard   bool // there are policies to enforce
	last    *Desired
	out     *Desired
	placed  map[intent.DeviceIntentID]section.Key
	failed  map[intent.DeviceIntentID]string // why an intent has no object
	taken   map[string]string                // what has a name, or a place in the kernel that only one can have
	// The routing rules so far, and the priorities of those without one.
	precedence precedence
	priorities map[intent.DeviceIntentID]int
	disputes   disputes
}

// Secret is what a reference to a Secret resolved to.
type Secret struct {
	Value []byte
	Err   error
}

// errKeep means that what was last written for an intent has to stay.
type errKeep struct{ reason string }

func (e *errKeep) Error() string { return e.reason }

// Stays ends the reason why an intent is skipped of which something was written before.
const Stays = "; the previous configuration stays"

func (r *renderer) skip(e *intent.DeviceIntent, reason string) {
	r.out.Skips = append(r.out.Skips, backends.Skip{Intent: string(e.ID), Reason: reason})
}

// find returns the key of the object of an intent that another needs.
func (r *renderer) find(id intent.DeviceIntentID) (section.Key, error) {
	if k, ok := r.placed[id]; ok {
		return k, nil
	}
	if why, ok := r.failed[id]; ok {
		return section.Key{}, fmt.Errorf("needs %s, which is skipped: %s", id, why)
	}
	return section.Key{}, fmt.Errorf("needs %s, which does not exist", id)
}

// refer returns the name of what a reference refers to, "" if it refers to nothing.
func (r *renderer) refer(w *Wanted, k openwrt.Kind, to intent.DeviceRef) (string, error) {
	if !to.Set() {
		return "", nil
	}
	if to.ID == "" {
		if err := openwrt.CheckName(k, to.Name); err != nil {
			return "", fmt.Errorf("refers to %q, which no object declares: %w", to.Name, err)
		}
		return to.Name, nil
	}
	found, err := r.find(to.ID)
	if err != nil {
		return "", err
	}
	if found.Kind != k {
		return "", fmt.Errorf("refers to %s, which has a different kind", to.ID)
	}
	w.Needs = append(w.Needs, found)
	return found.Name, nil
}

// secretValue returns a secret in clear, without blanks around it. If it is in a Secret that could not be read, the error is an *errKeep.
func (r *renderer) secretValue(field string, v intent.SecretValue) (string, error) {
	if text := strings.TrimSpace(string(v.Value)); text != "" {
		return text, nil
	}
	if v.From == (intent.SecretRef{}) {
		return "", fmt.Errorf("%s: not set", field)
	}
	s, name := r.secrets[v.From], v.From.Namespace+"/"+v.From.Name
	switch {
	case s.Err != nil:
		return "", &errKeep{fmt.Sprintf("%s: Secret %s, key %s: %v", field, name, v.From.Key, s.Err)}
	case strings.TrimSpace(string(s.Value)) == "":
		return "", &errKeep{fmt.Sprintf("%s: Secret %s: no key %s", field, name, v.From.Key)}
	default:
		return strings.TrimSpace(string(s.Value)), nil
	}
}

// network returns the CNF's interface in a network. If it has none, what was written stays: an interface that loses its
// zone because of a misspelt name would be open.
func (r *renderer) network(name string) (string, error) {
	if iface := r.cnf.Networks[name]; iface != "" {
		return iface, nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(r.cnf.Networks)), ", ")
	return "", &errKeep{fmt.Sprintf("network %q: the CNF has %s", name, cmp.Or(known, "none"))}
}
