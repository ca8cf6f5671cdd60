package pipeline

import (
	"time"

	"github.com/netloom/netloom/pkg/intent"
)

// Policies are divided again (translator.Translator.Interim) in rounds: so that a change costs others nothing that has been undone before the
// next round, and so that however many policies others change, that takes a small part of what targets can write.
const (
	divideEvery  = time.Second
	peersOfRound = 500 // of the policies that one round divides, together
)

// snapshot makes the next snapshot: the first one of all objects alone, later ones at the cost of what has changed, and of a round if it is due.
func (p *Pipeline) snapshot() *intent.Snapshot {
	if p.latest == nil {
		return p.translator.Snapshot()
	}
	peers, waited := 0, p.translator.Waiting() > 0
	if waited && time.Since(p.divided) >= divideEvery {
		peers = peersOfRound
	}
	if peers > 0 || !waited {
		p.divided = time.Now()
	}
	return p.translator.Interim(peers)
}

// nextDivision receives when the next round is due; nil if no policy waits.
func (p *Pipeline) nextDivision() <-chan time.Time {
	if p.latest == nil || p.translator.Waiting() == 0 {
		return nil
	}
	return time.After(time.Until(p.divided.Add(divideEvery)))
}
