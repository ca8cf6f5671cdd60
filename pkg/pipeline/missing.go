package pipeline

import (
	"slices"
	"time"

	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/translator"
)

// retainer is a source that keeps missing objects.
type retainer interface {
	Due() (time.Time, bool)
	Kept() []retention.Object
	Approve(refs []object.Ref)
	Refs() []object.Ref
}

var _ retainer = (*retention.Source)(nil)

// missingMessage is the message of the problem of an object that is kept.
const missingMessage = "it is missing from the source although its deletion was not seen: " +
	"it stays in force until it is back, is deleted, or its removal is approved"

// due receives when missing objects have to be judged; nil if there are none.
func (p *Pipeline) due() <-chan time.Time {
	if p.retainer == nil {
		return nil
	}
	due, ok := p.retainer.Due()
	if !ok {
		return nil
	}
	return time.After(time.Until(due))
}

// keptNow lists the objects that are kept.
func (p *Pipeline) keptNow() []retention.Object {
	if p.retainer == nil {
		return nil
	}
	return p.retainer.Kept()
}

// Kept lists the objects that are missing from the source but still in the newest snapshot, sorted.
func (p *Pipeline) Kept() []retention.Object {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.kept)
}

// missing lists the problems of objects that the source keeps.
func (p *Pipeline) missing(kept []retention.Object) []object.Problem {
	out := make([]object.Problem, len(kept))
	for i, k := range kept {
		out[i] = object.Problem{Cluster: p.cluster, Ref: k.Ref, Message: missingMessage}
	}
	return out
}

// keptProblems lists the problems of objects that the source does not have, but for which a target keeps something.
func (p *Pipeline) keptProblems() []object.Problem {
	if p.inTargets == nil {
		return nil
	}
	var out []object.Problem
	for _, k := range p.inTargets() {
		out = append(out, object.Problem{Cluster: p.cluster, Ref: k.Ref(), Message: k.Message()})
	}
	return out
}

// Approve makes the source treat kept objects as deleted.
func (p *Pipeline) Approve(refs []object.Ref) {
	if p.retainer == nil {
		return
	}
	p.retainer.Approve(refs)
	p.Do(func(*translator.Translator) {})
}

// Unreadable reports whether, according to the problems of a pipeline, part of its source cannot be read, so that it is not
// known which objects it declares.
func Unreadable(problems []object.Problem) bool {
	return slices.ContainsFunc(problems, func(p object.Problem) bool { return p.Unread == object.UnreadFile })
}
