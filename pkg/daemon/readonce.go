package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
)

// syncWait is how long a command waits until a cluster has been listed.
const syncWait = 30 * time.Second

// Read is what a source had at one moment.
type Read struct {
	Snapshot *intent.Snapshot
	Problems []object.Problem
	Staged   []object.Ref // policies that are staged, sorted; they are not in the snapshot
}

// ReadOnce translates what the source of opts has now.
func ReadOnce(ctx context.Context, opts Options, log logrus.FieldLogger) (Read, error) {
	p, err := translateOnce(ctx, opts, log)
	if err != nil {
		return Read{}, err
	}
	return Read{Snapshot: p.Latest(), Problems: p.Problems(), Staged: p.Translator().Staged()}, nil
}

// ManifestsOnce lists what the source of opts has now: see Pipeline.WriteManifests.
func ManifestsOnce(ctx context.Context, opts Options, log logrus.FieldLogger) ([]byte, error) {
	p, err := translateOnce(ctx, opts, log)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := p.WriteManifests(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// translateOnce runs a pipeline for one step, after the source has synced.
func translateOnce(ctx context.Context, opts Options, log logrus.FieldLogger) (*pipeline.Pipeline, error) {
	opts.SDWAN.NoEvents = true
	quiet := logrus.New()
	quiet.SetOutput(io.Discard) // problems are returned, not logged
	ctx, cancel := context.WithTimeout(ctx, syncWait)
	defer cancel()
	others, err := newOthers(&opts, log)
	if err != nil {
		return nil, err
	}
	if err := others.Read(ctx); err != nil {
		return nil, err
	}
	step := func(source source.Source) *pipeline.Pipeline {
		p := pipeline.New(source, opts.translation(), quiet)
		if others != nil {
			p.Join(others)
		}
		p.Step()
		return p
	}
	if opts.Source != nil && opts.Source.Synced() {
		return step(opts.Source), nil
	}
	if opts.Manifests != "" && opts.Source == nil {
		source, err := manifest.LoadDirectory(opts.Manifests, manifest.Options{Options: opts.Read, MaxFile: opts.MaxManifest}, log)
		if err != nil {
			return nil, err
		}
		return step(source), nil
	}
	source, clients, err := newSource(&opts, log)
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx) }()
	for !source.Synced() {
		select {
		case <-source.Wake():
			if refusal := refusalOf(source); refusal != nil { // waiting does not help
				cancel()
				return nil, errors.Join(refusal, <-ended)
			}
		case err := <-ended:
			return nil, errors.Join(notSynced(source), err)
		}
	}
	p := step(source)
	if opts.Beyond && clients.rest() != nil {
		found, err := undelivered(ctx, clients.rest(), opts.Read, opts.OnlyNamespace)
		if err != nil {
			return nil, err
		}
		p.SetBeyond(found)
	}
	cancel()
	return p, <-ended
}

// refusalOf is why a source will not sync, in the words of the API; nil if it may.
func refusalOf(source source.Source) error {
	if k, ok := source.(interface{ Refusal() error }); ok {
		return k.Refusal()
	}
	return nil
}

// notSynced lists what a source could not list in time.
func notSynced(source source.Source) error {
	faults := []error{fmt.Errorf("the cluster was not listed within %s", syncWait)}
	for _, p := range source.Problems() {
		faults = append(faults, p)
	}
	return errors.Join(faults...)
}
