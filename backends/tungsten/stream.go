package tungsten

import (
	"cmp"
	"errors"
	"slices"

	"github.com/netloom/netloom/pkg/tungsten"
)

// Watched is what Observe needs the events of.
func Watched() []tungsten.Watched {
	out := []tungsten.Watched{
		{Kind: tungsten.KindInterface, Fields: portFields()},
		{Kind: tungsten.KindInstanceIP, Fields: addressFields()},
	}
	for _, kind := range watchedKinds() {
		out = append(out, tungsten.Watched{Kind: kind, Fields: fieldsOf(kind)})
	}
	return out
}

// Wake implements backends.Waker: interfaces of pods, addresses or objects of the owner appeared, disappeared or changed, or the change
// stream ended.
func (b *Backend) Wake() <-chan struct{} { return b.interfaces.wake }

// Observe takes an event of the change stream of Watched. After a list, as at each connection, every interface is read again. After
// the end of a stream, the next plan finds out whether the controller answers.
func (b *Backend) Observe(e tungsten.Event) {
	if e.Type != tungsten.EventLost {
		b.lost.Store(nil)
	}
	switch {
	case e.Type == tungsten.EventLost:
		if was := b.lost.Swap(&e.Err); b.deaf.Swap(true) && was != nil {
			return
		}
	case e.Kind == tungsten.KindInterface:
		b.interfaces.state.note(e)
		b.noteOwn(e)
	case e.Kind == tungsten.KindInstanceIP && b.network != nil:
		b.addresses.state.note(e)
		b.noteOwn(e)
	case !b.noteOwn(e):
		return
	}
	b.wakeUp()
}

// noteOwn notes an event of objects of the owner, and reports whether it is one.
func (b *Backend) noteOwn(e tungsten.Event) bool {
	if b.network == nil && slices.Contains(balancerKinds(), e.Kind) || !slices.Contains(append(kinds(), balancerKinds()...), e.Kind) {
		return false
	}
	return b.own.note(b.names, e)
}

// wakeUp asks for a plan.
func (b *Backend) wakeUp() {
	select {
	case b.interfaces.wake <- struct{}{}:
	default:
	}
}

var errNoStream = errors.New("the change stream ended")

// Blind implements backends.Viewer.
func (b *Backend) Blind() error {
	if why := b.lost.Load(); why != nil {
		return cmp.Or(*why, errNoStream)
	}
	return nil
}
