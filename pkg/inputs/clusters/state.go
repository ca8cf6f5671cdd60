package clusters

import (
	"fmt"
	"time"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// State is what is known of another cluster.
type State struct {
	Name   string
	Synced bool      // it has been read once
	Lost   time.Time // since when it cannot be read; zero if it can
	Pods   int
}

// State returns what is known of c.
func (c *cluster) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Name: c.Name, Synced: c.Source.Synced(), Lost: c.lost, Pods: c.pods}
}

// States lists what is known of the clusters, by name.
func (s *Set) States() []State {
	var out []State
	for _, c := range s.all() {
		out = append(out, c.State())
	}
	return out
}

// Degraded describes, a line each, the clusters that cannot be read.
func (s *Set) Degraded() []string {
	if s == nil {
		return nil
	}
	var out []string
	if s.registry != nil {
		switch lost := s.registry.Lost(); {
		case !s.registry.Synced():
			out = append(out, "degraded: the list of other clusters has not been read: their pods match no policy")
		case !lost.IsZero():
			out = append(out, fmt.Sprintf("degraded: the list of other clusters has not been readable for %s: they stay as they were", age(lost)))
		}
	}
	for _, c := range s.States() {
		if text := c.unread(); text != "" {
			out = append(out, "degraded: cluster "+c.Name+" "+text)
		}
	}
	return out
}

// unread describes that a cluster cannot be read; "" if it can.
func (s State) unread() string {
	switch {
	case !s.Synced:
		return "has not been read: its pods match no policy"
	case !s.Lost.IsZero():
		return fmt.Sprintf("has not been readable for %s: its %d pods stay as they were", age(s.Lost), s.Pods)
	default:
		return ""
	}
}

// age is how long ago t was, in seconds.
func age(t time.Time) time.Duration { return time.Since(t).Round(time.Second) }

// Proof is how current a kind of another cluster is known to be, or the list of the clusters.
type Proof struct {
	Cluster string // "" is the list of the clusters
	source.Proof
}

// Proofs lists how current what was read of the clusters is known to be. A nil set has none.
func (s *Set) Proofs() []Proof {
	if s == nil {
		return nil
	}
	var out []Proof
	if p, ok := s.registry.(source.Prover); ok {
		for _, one := range p.Proofs() {
			out = append(out, Proof{"", one})
		}
	}
	for _, c := range s.all() {
		if p, ok := c.Source.(source.Prover); ok {
			for _, one := range p.Proofs() {
				out = append(out, Proof{c.Name, one})
			}
		}
	}
	return out
}
