package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/object"
)

// Kubernetes is the source that reads from a Kubernetes API. NewKubernetes makes one.
type Kubernetes struct {
	*inbox
	log       logrus.FieldLogger
	client    kubernetes.Interface
	server    string // see Options
	resources map[Kind]*informed
	adapter   *adapter // of what is read as Endpoints

	mu       sync.Mutex
	problems map[Kind]object.Problem
	garbled  map[object.Ref]object.Problem // objects that do not go into their type
	refused  map[Kind]bool                 // kinds that the API would not list, and has not listed since
	running  bool
	chosen   bool // it is known which of the two endpoints are read from
	unused   Kind // of the two that endpoints may be read from; "" when it is neither, or not known yet
}

// informed is one kind with the informer that keeps its objects.
type informed struct {
	resource
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration // nil before Run
}

// NewKubernetes makes a source of the objects that client can see. Nothing is asked of the API before Run.
func NewKubernetes(client kubernetes.Interface, opts Options, log logrus.FieldLogger) *Kubernetes {
	k := &Kubernetes{
		inbox:     newInbox(),
		log:       log,
		client:    client,
		server:    opts.Server,
		resources: map[Kind]*informed{},
		adapter:   newAdapter(),
		problems:  map[Kind]object.Problem{},
		garbled:   map[object.Ref]object.Problem{},
		refused:   map[Kind]bool{},
	}
	c := clients{Interface: client, sdwan: opts.SDWAN}
	for _, r := range resources() {
		if !opts.wants(r.kind) || r.sdwan && opts.SDWAN == nil {
			continue
		}
		example, asked := runtime.Object(r.empty()), any(client)
		if r.sdwan {
			example, asked = untyped(&r), opts.SDWAN
		}
		lw := cache.ToListWatcherWithWatchListSemantics(k.noticing(&r, r.listWatch(c)), asked)
		k.resources[r.kind] = &informed{
			resource: r,
			informer: cache.NewSharedIndexInformerWithOptions(lw, example, cache.SharedIndexInformerOptions{}),
		}
	}
	return k
}

// noticing clears the problem of a resource once it can be watched: whoever watches it has listed it before. It makes one of
// a server that cannot be reached or is too busy, which the informer tries again without a word.
func (k *Kubernetes) noticing(r *resource, lw *cache.ListWatch) *cache.ListWatch {
	inner := lw.WatchFuncWithContext
	kind := r.kind
	lw.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
		w, err := inner(ctx, opts)
		switch {
		case err == nil:
			k.recovered(kind)
		case utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err):
			k.failed(r, err)
		}
		return w, err
	}
	return lw
}

// Run lists and watches until ctx ends. An API that cannot be reached, or refuses, is a Problem and tried for ever.
func (k *Kubernetes) Run(ctx context.Context) error {
	ctx = logr.NewContext(ctx, logr.New(&logSink{log: k.log}))
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, kind := range slices.Sorted(maps.Keys(k.resources)) {
		r := k.resources[kind]
		if err := k.prepare(r); err != nil {
			return fmt.Errorf("watch %s: %w", r.plural, err)
		}
	}
	k.mu.Lock()
	k.running = true
	k.mu.Unlock()
	start := func(r *informed) {
		running.Go(func() { r.informer.RunWithContext(ctx) })
		running.Go(func() { k.await(ctx, r) })
	}
	for kind, r := range k.resources {
		if !k.mayChoose(kind) {
			start(r)
		}
	}
	if !k.chooseEndpoints(ctx) {
		return nil
	}
	for kind, r := range k.inUse() {
		if k.mayChoose(kind) {
			start(r)
		}
	}
	<-ctx.Done()
	return nil
}

// await rings when a resource has been listed once.
func (k *Kubernetes) await(ctx context.Context, r *informed) {
	select {
	case <-ctx.Done():
		return
	case <-r.handler.HasSyncedChecker().Done():
	}
	k.mu.Lock()
	delete(k.refused, r.kind)
	k.mu.Unlock()
	k.log.WithField("resource", r.plural).Debug("cluster objects read")
	k.ring()
}

// prepare connects an informer. It fails only when called twice.
func (k *Kubernetes) prepare(r *informed) error {
	if err := r.informer.SetTransform(k.transform(r)); err != nil {
		return err
	}
	err := r.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		k.failed(&r.resource, err)
	})
	if err != nil {
		return err
	}
	r.handler, err = r.informer.AddEventHandler(k.handler(&r.resource))
	return err
}

// handler marks what changes. Of what the change was it matters only whether a deletion was seen, or an object is missing
// from a list that was made after a gap in the watch.
func (k *Kubernetes) handler(r *resource) cache.ResourceEventHandler {
	if r.kind == kindEndpoints {
		return k.adapter.handler(k.mark, k.markDeleted)
	}
	refOf := func(o any) (object.Ref, bool) {
		switch o := o.(type) {
		case apiObject:
			return r.ref(o), true
		case cache.DeletedFinalStateUnknown: // went while the watch was down
			ns, name, err := cache.SplitMetaNamespaceKey(o.Key)
			return object.Ref{Kind: r.kind, Namespace: ns, Name: name}, err == nil
		default:
			return object.Ref{}, false
		}
	}
	mark := func(o any) {
		if ref, ok := refOf(o); ok {
			k.mark(ref)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: mark,
		DeleteFunc: func(o any) {
			if ref, ok := refOf(o); ok {
				k.readable(ref)
				if _, missing := o.(cache.DeletedFinalStateUnknown); missing {
					k.mark(ref)
				} else {
					k.markDeleted(ref)
				}
			}
		},
		UpdateFunc: func(before, after any) {
			b, ok1 := before.(apiObject)
			a, ok2 := after.(apiObject)
			if !ok1 || !ok2 || !same(b, a) || (r.sdwan || r.kind == KindNetworkPolicy) && a.GetGeneration() != b.GetGeneration() {
				mark(after)
			}
		},
	}
}

// failed notes that a resource cannot be listed or watched at present.
func (k *Kubernetes) failed(r *resource, err error) {
	p := object.Problem{Place: object.Place{Path: r.plural}, Message: cause.Of(err).Error()}
	if k.server != "" {
		p.Message = "API server " + k.server + ": " + p.Message
	}
	k.mu.Lock()
	k.refuse(r, err)
	if !k.isWithheld(r.kind) {
		p.Unread = object.UnreadResource
	} else {
		p.Message += "; what was written for such objects stays as it is until they can be read"
	}
	news := k.problems[r.kind] != p
	k.problems[r.kind] = p
	k.mu.Unlock()
	if news {
		k.ring()
	}
}

func (k *Kubernetes) recovered(kind Kind) {
	k.mu.Lock()
	_, was := k.problems[kind]
	delete(k.problems, kind)
	k.mu.Unlock()
	if was {
		k.ring()
	}
}

// Synced says whether every kind has been listed once, those that are withheld aside.
func (k *Kubernetes) Synced() bool {
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if !running {
		return false
	}
	for kind, r := range k.inUse() {
		if !r.handler.HasSynced() && !k.withholds(kind) {
			return false
		}
	}
	return true
}

// Get is the object of that name as the API last told it.
func (k *Kubernetes) Get(ref object.Ref) (runtime.Object, bool) {
	if ref.Kind == KindEndpointSlice && !k.uses(ref.Kind) {
		if s, ok := k.adapter.get(ref); ok {
			return s, true
		}
		return nil, false
	}
	r, ok := k.resources[ref.Kind]
	if !ok || ref.Kind == kindEndpoints {
		return nil, false
	}
	o, found, err := r.informer.GetStore().GetByKey(ref.NamespacedName())
	if err != nil || !found {
		return nil, false
	}
	if _, unknown := o.(*metav1.PartialObjectMetadata); unknown {
		return nil, false
	}
	typed, ok := o.(runtime.Object)
	return typed, ok
}

// Problems lists the resources that cannot be watched at present, and the objects that do not go into their type.
func (k *Kubernetes) Problems() []object.Problem {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := slices.AppendSeq(slices.Collect(maps.Values(k.problems)), maps.Values(k.garbled))
	slices.SortFunc(all, object.Problem.Compare)
	return all
}
