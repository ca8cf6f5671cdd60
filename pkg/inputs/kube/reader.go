package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// Reader is a further reader of a Source, which checks individual kinds.
type Reader struct {
	*source.Inbox
	*Source
}

// NewReader makes a reader of k. It has to be made before k runs.
func (k *Source) NewReader() *Reader { return &Reader{Inbox: k.Fork(), Source: k} }

// Reads reports whether the objects of a kind are read.
func (k *Source) Reads(kind string) bool {
	_, ok := k.resources[kind]
	return ok
}

// Listed reports whether the objects of a kind that existed at the start have been marked dirty.
func (k *Source) Listed(kind string) bool {
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	r, ok := k.resources[kind]
	return ok && running && r.hasSynced()
}

// Absent reports whether the API does not have a kind, and need not have it.
func (k *Source) Absent(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.absent[kind]
}

// Failure returns why a kind cannot be listed or watched at present, in the words of the API if it refuses; nil if it can.
func (k *Source) Failure(kind string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.failures[kind]
	if refusal := new(apierrors.StatusError); errors.As(err, &refusal) {
		return refusal
	}
	return err
}
