package source

import (
	"fmt"
	"time"
)

// Prover is a source that compares what it holds with what there is, again and again.
type Prover interface {
	// Proofs lists what it knows about each kind that it reads, in the order of their names.
	Proofs() []Proof
}

// Proof is how current the objects of a kind are known to be.
type Proof struct {
	Resource  string               // such as pods, or the directory that is read
	Confirmed time.Time            // when the source last found that it holds what there is; zero is not since the start
	Late      time.Duration        // a confirmation that is older is late; zero is never
	Fault     string               // why the last comparison found out nothing; "" if it did
	Renewals  map[RenewalCause]int // how often the source started over, by cause
}

// RenewalCause is why a source did not trust what it held.
type RenewalCause string

// The causes.
const (
	RenewalBack    RenewalCause = "back"    // what there is is older than what was seen
	RenewalDiffers RenewalCause = "differs" // a change has not been delivered
	RenewalSilent  RenewalCause = "silent"  // nothing at all has been delivered
)

// IsLate reports whether the confirmation is late, for a source that started at a time.
func (p *Proof) IsLate(now, start time.Time) bool { return p.Late > 0 && p.age(now, start) > p.Late }

// age is the time since the last confirmation, or since the start.
func (p *Proof) age(now, start time.Time) time.Duration {
	if p.Confirmed.IsZero() {
		return now.Sub(start)
	}
	return now.Sub(p.Confirmed)
}

// Degraded describes a late confirmation in human-readable form; "" if it is not late.
func (p *Proof) Degraded(now, start time.Time) string {
	if !p.IsLate(now, start) {
		return ""
	}
	age := p.age(now, start)
	line := fmt.Sprintf("degraded: %s were last confirmed %s ago", p.Resource, age.Round(time.Second))
	if p.Confirmed.IsZero() {
		line = fmt.Sprintf("degraded: %s have not been confirmed for %s, since the start", p.Resource, age.Round(time.Second))
	}
	if p.Fault != "" {
		line += ": " + p.Fault
	}
	return line
}
