package confirm

import (
	"fmt"
	"slices"
)

// difference is an object as the API has it and as it is held.
type difference struct{ there, held state }

// older reports whether the API has an older state of the object than the one held: its database was restored from a copy, and
// has come further since than it was when the newer state was delivered.
func (d difference) older() bool {
	return d.there.uid == d.held.uid && later(d.held.version, d.there.version)
}

// suspicion is what one reading after the other found to differ. A change that is on its way differs once; the second reading
// finds it done, or another one.
type suspicion struct {
	objects map[string]difference
	missing int // objects that the API counted but that are not held; negative for those that only are held
	alike   int // readings in a row that counted the same, other than 0
}

// finding is what is known after two or more readings.
type finding struct {
	why     string // what differs for good; "" if nothing is known to
	older   bool   // the API has an older state of an object that differs
	settled bool   // all that differed before has been done since
}

// again takes the differences of another reading.
func (s *suspicion) again(objects map[string]difference, missing int) finding {
	var stuck []string
	var out finding
	for key, d := range objects {
		if s.objects[key] == d {
			stuck = append(stuck, key)
			out.older = out.older || d.older()
		}
	}
	s.objects = objects
	if missing != s.missing {
		s.missing, s.alike = missing, 0
	}
	if s.alike++; missing == 0 {
		s.alike = 0
	}
	switch {
	case len(stuck) == 1:
		out.why = describe(stuck[0], objects[stuck[0]])
	case len(stuck) > 0:
		slices.Sort(stuck)
		out.why = fmt.Sprintf("%s, and %d more", describe(stuck[0], objects[stuck[0]]), len(stuck)-1)
	case s.alike >= countedAlike && missing > 0:
		out.why = fmt.Sprintf("the API has %d more objects than netloom", missing)
	case s.alike >= countedAlike:
		out.why = fmt.Sprintf("the API has %d fewer objects than netloom", -missing)
	default:
		out.settled = s.alike <= 1
	}
	return out
}

// countedAlike is how many readings have to count the same difference: objects that come and go all the time may well be one
// off twice.
const countedAlike = 3

func describe(key string, d difference) string {
	switch {
	case d.held == state{}:
		return key + " is missing"
	case d.there == state{}:
		return key + " no longer exists"
	case d.there.uid != d.held.uid:
		return key + " has been replaced"
	}
	return fmt.Sprintf("%s has version %s instead of %s", key, d.there.version, d.held.version)
}

// clear reports whether nothing is suspected.
func (s *suspicion) clear() bool { return len(s.objects) == 0 && s.missing == 0 }
