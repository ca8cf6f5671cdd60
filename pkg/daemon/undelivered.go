package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
)

const (
	// lookWait is how long an API may take to list the kinds that netloom does not evaluate.
	lookWait = 5 * time.Second
	// A slow look is not repeated before a hundred times as long has passed, or lookLatest.
	lookShare  = 100
	lookLatest = 10 * time.Minute
)

// undelivered lists the objects of a cluster that decide on connections and are of kinds that its source does not deliver.
func undelivered(ctx context.Context, config *rest.Config, read source.Options, namespace string) (*source.Undelivered, error) {
	return kube.ListForeign(ctx, config, kube.ForeignKinds{
		Wanted: world.MayDecide, InGroup: world.InGroup, Whole: world.LooksInto, Questions: read.Questions, Namespace: namespace,
	})
}

// beyond is what a daemon knows of kinds that it does not evaluate. It only matters to answers, so it looks when somebody asks.
type beyond struct {
	look     func(context.Context) (*source.Undelivered, error)
	interval time.Duration             // for which what was found is good
	tell     func(*source.Undelivered) // called with what was found, if it is new

	mu    sync.Mutex
	due   time.Time // of the next look
	found *source.Undelivered
}

// newBeyond returns nil if the source is of a type that cannot be looked beyond.
func newBeyond(d *Daemon, read source.Source) *beyond {
	b := &beyond{tell: d.foundBeyond}
	directory, files := read.(interface{ Undelivered() *source.Undelivered })
	config := d.clients.rest()
	switch {
	case files:
		b.look = func(context.Context) (*source.Undelivered, error) { return directory.Undelivered(), nil }
	case config != nil:
		b.interval = cmp.Or(max(d.opts.ConfirmInterval, 0), confirm.DefaultInterval)
		b.look = func(ctx context.Context) (*source.Undelivered, error) {
			return undelivered(ctx, config, d.opts.Read, "")
		}
	default:
		return nil
	}
	return b
}

// refresh looks, unless what was found is good.
func (b *beyond) refresh(ctx context.Context) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	began := time.Now()
	if began.Before(b.due) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait) // what is found serves others too
	defer cancel()
	found, err := b.look(ctx)
	if err != nil {
		found = &source.Undelivered{Unlisted: []source.Unlisted{{Cause: err.Error()}}}
	}
	took := time.Since(began)
	b.due = began.Add(took + max(b.interval, min(lookShare*took, lookLatest)))
	if b.interval == 0 {
		b.due = time.Time{}
	}
	if b.found == nil || !reflect.DeepEqual(b.found, found) {
		b.found = found
		b.tell(found)
	}
}

// LookBeyond finds out what decides on connections and is not evaluated, if that is not known.
func (d *Daemon) LookBeyond(ctx context.Context) { d.beyond.refresh(ctx) }

// foundBeyond takes what was found of kinds that netloom does not evaluate.
func (d *Daemon) foundBeyond(found *source.Undelivered) {
	d.pipeline.SetBeyond(found)
	if d.page != nil {
		d.page.Beyond(readingOf(found))
	}
}

// readingOf is what answers have to know of it.
func readingOf(found *source.Undelivered) *world.Reading {
	r := &world.Reading{Live: true}
	for _, content := range found.Objects {
		var is metav1.TypeMeta
		_ = json.Unmarshal(content, &is) // it has been read before
		var has struct{ Metadata struct{ Namespace string } }
		if json.Unmarshal(content, &has) != nil {
			has.Metadata.Namespace = ""
		}
		r.AddForeign(is.GroupVersionKind().Group, is.Kind, has.Metadata.Namespace, content)
	}
	for _, u := range found.Unlisted {
		r.AddUnlisted(u.String())
	}
	return r
}
