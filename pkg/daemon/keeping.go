package daemon

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/retention"
	"github.com/netloom/netloom/pkg/watch"
	"github.com/netloom/netloom/translator"
)

// keeping is a source that keeps objects that are missing.
type keeping interface {
	Due() (time.Time, bool)
	Kept() []retention.Object
	Approve(refs []object.Ref)
}

var _ keeping = (*retention.Source)(nil)

// missingMessage is what a problem says of an object that is kept.
const missingMessage = "it is missing from the source although its deletion was not seen, and so are too many others: " +
	"it stays in force until it is back, is deleted, or its removal is approved"

// due receives when missing objects have to be judged; nil when none have.
func (p *Pipeline) due() <-chan time.Time {
	if p.keeping == nil {
		return nil
	}
	due, ok := p.keeping.Due()
	if !ok {
		return nil
	}
	return time.After(time.Until(due))
}

// keptNow lists the objects that are kept.
func (p *Pipeline) keptNow() []retention.Object {
	if p.keeping == nil {
		return nil
	}
	return p.keeping.Kept()
}

// Kept lists the objects that are missing from the source and that the newest snapshot was made with nevertheless, sorted.
func (p *Pipeline) Kept() []retention.Object {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Clone(p.kept)
}

// missing are the problems of objects that are kept.
func (p *Pipeline) missing(kept []retention.Object) []translator.Problem {
	out := make([]translator.Problem, len(kept))
	for i, k := range kept {
		out[i] = translator.Problem{Origin: p.originOf(k), Message: missingMessage}
	}
	return out
}

// originOf names an object that is kept as the translator does.
func (p *Pipeline) originOf(k retention.Object) intent.Origin {
	o := intent.Origin{Cluster: p.cluster, Kind: k.Ref.Kind, Namespace: k.Ref.Namespace, Name: k.Ref.Name}
	if of, err := meta.Accessor(k.Object); err == nil {
		o.UID = string(of.GetUID())
	}
	return o
}

// Approve ends that objects are kept: they are taken for deleted.
func (p *Pipeline) Approve(refs []object.Ref) {
	if p.keeping == nil {
		return
	}
	p.keeping.Approve(refs)
	p.Do(func(*translator.Translator) {})
}

// Unreadable says whether, by the problems of a pipeline, part of its source does not say which objects it declares.
func Unreadable(problems []error) bool {
	return slices.ContainsFunc(problems, func(err error) bool {
		p := watch.Problem{}
		return errors.As(err, &p) && p.Opaque
	})
}
