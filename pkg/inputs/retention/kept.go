package retention

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
)

// Kept is what is in force although it is missing from the source, and the digest that approves its removal.
type Kept struct {
	Digest  string       `json:"digest"` // "" if nothing is kept
	Objects []KeptObject `json:"objects"`
}

// KeptObject is an object that is kept.
type KeptObject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Target is the target that keeps its rows since startup; "" for an object that netloom itself keeps.
	Target string `json:"target,omitempty"`
}

// Ref identifies k.
func (k KeptObject) Ref() object.Ref {
	return object.Ref{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name}
}

// String returns the path of k, with its target if it has one.
func (k KeptObject) String() string {
	if k.Target == "" {
		return k.Ref().Path()
	}
	return k.Ref().Path() + " in " + k.Target
}

// Message returns why the configuration of an object is kept in a target.
func (k KeptObject) Message() string {
	return "it has been missing from the source since netloom started: target " + k.Target +
		" keeps its configuration until it is back or its removal is approved"
}

// Compare orders objects by target, kind, namespace and name.
func (k KeptObject) Compare(o KeptObject) int {
	return cmp.Or(strings.Compare(k.Target, o.Target), k.Ref().Compare(o.Ref()))
}

// NewKept lists objects with their digest, which depends only on which objects they are.
func NewKept(objects []KeptObject) Kept {
	if len(objects) == 0 {
		return Kept{Objects: []KeptObject{}}
	}
	lines := make([]string, len(objects))
	for i, k := range objects {
		lines[i] = k.String()
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return Kept{Digest: hex.EncodeToString(sum[:6]), Objects: objects}
}

// KeptIn lists what is kept in a target.
func KeptIn(target string, refs []object.Ref) []KeptObject {
	out := make([]KeptObject, len(refs))
	for i, ref := range refs {
		out[i] = KeptObject{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name, Target: target}
	}
	return out
}

// ByKind counts objects that are kept.
func (k Kept) ByKind() map[string]int {
	out := map[string]int{}
	for _, o := range k.Objects {
		out[o.Kind]++
	}
	return out
}

// Degraded returns a line about kept objects and how to approve their removal; none without such objects.
func (k Kept) Degraded() []string {
	if k.Digest == "" {
		return nil
	}
	return []string{fmt.Sprintf("degraded: %s are missing from the source and kept in force; netloom approve lists them, "+
		"netloom approve %s removes them", k.Counts(), k.Digest)}
}

// Counts returns the number of objects of each kind, "" for none.
func (k Kept) Counts() string {
	counts := k.ByKind()
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		what := kind + " objects"
		if kind == backends.KindPort {
			what = "isolated logical ports"
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], what))
	}
	return strings.Join(parts, ", ")
}
