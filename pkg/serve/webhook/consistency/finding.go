package consistency

import (
	"github.com/netloom/netloom/pkg/object"
)

// Check is one kind of check.
type Check string

// The checks.
const (
	Dependencies Check = "dependencies"    // what an object refers to exists, and what others refer to stays
	DuplicateCNF Check = "duplicate-cnf"   // one workload for a purpose in a namespace
	Purpose      Check = "immutable-label" // the label sdewanPurpose does not change
	PlainSecrets Check = "plain-secrets"   // keys are in Secrets
)

// OnDevice is the annotation of an object that refers to objects created on the device by hand: their names separated by commas, or * for
// all.
const OnDevice = "netloom.io/on-device"

// ImmutablePurpose is the message for a changed label, in the words of ICN SD-EWAN.
const ImmutablePurpose = "Label 'sdewanPurpose' is immutable"

// Finding is something that is wrong with a change. It never holds the value of a secret.
type Finding struct {
	Check Check
	Text  string // names the field and what was expected
	// Old is set if the object had the same fault before the change, so refusing the change would not help.
	Old bool
}

// some formats the first of many keys.
func some(keys []object.Ref) string {
	const shown = 3
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.String()
	}
	return object.Few(names, shown)
}
