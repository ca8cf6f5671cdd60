package sdwan

import (
	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/pkg/object"
)

// Without an API there is no status that could say why an object is not in effect: this is logged instead, once.

// mostLogged is how many refusals are logged at once.
const mostLogged = 20

// logSkips logs the skips in now that are not in before.
func logSkips(log logrus.FieldLogger, before, now []backends.Skip) {
	known := map[backends.Skip]bool{}
	for _, s := range before {
		known[s] = true
	}
	logNew(log, now, func(s backends.Skip) (logrus.Fields, bool) {
		return logrus.Fields{"intent": s.Intent, "reason": s.Reason}, !known[s]
	}, "the CNF does not have an object as it should be")
}

// logProblems logs the problems of SD-WAN objects in now that are not in before, both in order.
func logProblems(log logrus.FieldLogger, before, now []object.Problem) {
	var come []object.Problem
	object.DiffProblems(before, now, func(p object.Problem, isNew bool) {
		if isNew {
			come = append(come, p)
		}
	})
	logNew(log, problemsOf(come), func(p object.Problem) (logrus.Fields, bool) {
		return logrus.Fields{"object": p.Ref.Path(), "reason": p.What()}, true
	}, "SD-WAN object is not accepted")
}

// logNew logs those elements of a list that are new.
func logNew[T any](log logrus.FieldLogger, list []T, describe func(T) (logrus.Fields, bool), message string) {
	logged, more := 0, 0
	for _, one := range list {
		fields, isNew := describe(one)
		switch {
		case !isNew:
		case logged == mostLogged:
			more++
		default:
			logged++
			log.WithFields(fields).Warn(message)
		}
	}
	if more > 0 {
		log.WithField("more", more).Warn(message)
	}
}
