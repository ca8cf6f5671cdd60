package explain

import "github.com/netloom/netloom/pkg/answers/reach"

// Traffic is the traffic of r.Ports.
func (r *Reach) Traffic() reach.Traffic { return r.traffic }
