package main

import (
	"fmt"
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
	n, standIns := view.Subjects()
	return subjects{n, standIns}
}

func (s subjects) String() string {
	return fmt.Sprintf("%d %s", s.n, object.SubjectNoun(s.n, s.standIns))
}

func (s subjects) heading() string { return strings.ToUpper(object.SubjectNoun(0, s.standIns)) }
