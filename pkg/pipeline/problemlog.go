package pipeline

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/object"
)

// How often problems are logged: what changes again and again must not fill the log.
const (
	// logInterval is how long a cause is not logged again if only the numbers in its message have changed.
	logInterval = time.Minute
	// mostLogged is how many problems are logged in that time. Of further ones, only the number is.
	mostLogged = 100
)

// problemLog logs problems: a cause at once, and once an interval what became of its numbers. The zero value has logged nothing.
type problemLog struct {
	since   time.Time // when the interval began; zero if nothing was logged in the last one
	told    map[cause]bool
	waiting map[cause]object.Problem // told causes with other numbers
	more    int                      // problems that were not logged
}

// cause is a problem without the numbers in its message.
type cause struct {
	cluster, field, text string
	ref                  object.Ref
	place                object.Place
}

func causeOf(p *object.Problem) cause {
	text := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, p.Message)
	return cause{p.Cluster, p.Field, text, p.Ref, p.Place}
}

// come takes a new problem.
func (l *problemLog) come(log logrus.FieldLogger, p object.Problem) {
	if l.since.IsZero() {
		l.since, l.told, l.waiting = time.Now(), map[cause]bool{}, map[cause]object.Problem{}
	}
	c := causeOf(&p)
	switch {
	case l.told[c]:
		l.waiting[c] = p
	case len(l.told) >= mostLogged:
		l.more++
	default:
		l.told[c] = true
		log.WithError(p).Warn("problem in a source object")
	}
}

// gone takes a problem that is no longer there.
func (l *problemLog) gone(p object.Problem) {
	if c := causeOf(&p); l.waiting[c] == p {
		delete(l.waiting, c)
	}
}

// due returns when settle has something to log; false if it has nothing.
func (l *problemLog) due() (time.Time, bool) {
	return l.since.Add(logInterval), len(l.waiting) > 0 || l.more > 0
}

// settle ends the interval if it is over, and logs what has changed in it.
func (l *problemLog) settle(log logrus.FieldLogger) {
	if l.since.IsZero() || time.Since(l.since) < logInterval {
		return
	}
	waiting, more := slices.SortedFunc(maps.Values(l.waiting), object.Problem.Compare), l.more
	*l = problemLog{}
	if more > 0 {
		log.WithField("problems", more).Warn("further problems in source objects: see /debug/problems")
	}
	for _, p := range waiting {
		l.come(log, p)
	}
}
