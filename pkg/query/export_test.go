package query

import "github.com/netloom/netloom/pkg/reach"

// Traffic is what r spells as Ports.
func (r *Reach) Traffic() reach.Traffic { return r.traffic }
