package openwrt

import (
	"context"
	"maps"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// begin leaves a note that a service has to reload, before anything is written: if this process ends before it reloads
// the service, the next one finds the note.
func (w *writer) begin(ctx context.Context, service string) error {
	if service == "" {
		return nil
	}
	return w.leaveNote(ctx, w.b.names.Pending(service))
}

// leaveNote leaves a note. If the device rejects it twice in a row, everything goes on without it: then only this process knows
// what it would have said.
func (w *writer) leaveNote(ctx context.Context, name string) error {
	w.run.left[name] = true
	if w.have.Notes[name] || w.unnoted[name] {
		return nil
	}
	note := openwrt.ObjectOf(openwrt.Proposal{Name: name})
	_, err := w.b.client.Put(ctx, openwrt.Proposals, note)
	k := section.Key{Kind: openwrt.Proposals, Name: name}
	switch {
	case err == nil:
		w.have.Notes[name] = true
		delete(w.b.faulted, k)
		return nil
	case answered(err) && w.repeated(k, note):
		w.unnoted[name] = true
		w.b.opts.Log.WithFields(logrus.Fields{"cnf": string(w.b.opts.CNF), "reason": err.Error()}).
			Warn("the device does not store the record of changes that are still to be loaded")
		return nil
	default:
		return &noteError{err}
	}
}

// forgetParts removes the notes of how many certificates a remote had, except the one that is right.
func (w *writer) forgetParts(ctx context.Context, remote, except string) error {
	for _, note := range slices.Sorted(maps.Keys(w.have.Notes)) {
		_, of, ok := w.b.names.PartsIn(note)
		if !ok || of != remote || note == except {
			continue
		}
		if err := w.b.client.Delete(ctx, openwrt.Proposals, note); err != nil && !answered(err) {
			return err
		}
		delete(w.have.Notes, note)
	}
	return nil
}
