package main

import (
	"strings"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/pkg/object"
)

// subjects is what reports count: pods, or workloads if some pods are made up. See object.Key.Subject.
type subjects struct {
	n        int
	standIns bool
}

func subjectsOf(view labelcache.View) subjects {
	found, out := map[object.Key]bool{}, subjects{}
	for e := range view.Endpoints() {
		if e.Key.StandsIn() {
			found[e.Key.Subject()], out.standIns = true, true
		} else {
			out.n++
		}
	}
	out.n += len(found)
	return out
}

func (s subjects) noun() string {
	if s.standIns {
		return "workload"
	}
	return "pod"
}

func (s subjects) heading() string { return strings.ToUpper(s.noun()) + "S" }
