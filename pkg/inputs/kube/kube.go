package kube

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// Source reads the objects of one API. New makes one.
type Source struct {
	*source.Inbox
	log        logrus.FieldLogger
	client     kubernetes.Interface
	server     string // see Options
	namespace  string // likewise
	resources  map[string]*kindMirror
	adapter    *adapter // of the kind that is read as Endpoints
	compactor  compactor
	departures *departures
	gate       corev1.PodConditionType // see source.Options
	condition  func(object.Ref)        // see OnCondition; nil if conditions are changes like others

	mu       sync.Mutex
	problems object.Problems  // of objects that do not fit their type, and of kinds
	failures map[string]error // why kinds cannot be listed or watched
	refused  map[string]bool  // kinds that the API would not list, and has not listed since
	absent   map[string]bool  // those of them that the API does not have, and need not have
	running  bool
	chosen   bool   // it is known which of the two kinds endpoints are read from
	unused   string // the other of these two kinds; "" if there is none, or it is not known yet
}

// kindMirror is one kind with the mirror that keeps its objects.
type kindMirror struct {
	*mirror
	source.Resource

	lw      cache.ListerWatcher
	example runtime.Object // as lw delivers them
	confirm *confirm.Kind
}

// New makes a source of the objects that client can see. The API is not contacted before Run.
func New(client kubernetes.Interface, opts Options, log logrus.FieldLogger) *Source {
	k := &Source{
		Inbox:      source.NewInbox(),
		log:        log,
		client:     client,
		server:     opts.Server,
		namespace:  opts.Namespace,
		resources:  map[string]*kindMirror{},
		adapter:    newAdapter(),
		compactor:  newCompactor(),
		departures: newDepartures(),
		gate:       opts.Gate,
		failures:   map[string]error{},
		refused:    map[string]bool{},
		absent:     map[string]bool{},
	}
	c := clients{Interface: client, sdwan: opts.SDWAN, policies: opts.ClusterPolicies, metadata: opts.Metadata, namespace: opts.Namespace}
	api := confirm.NewAPI(opts.Confirm, log)
	rows := source.Resources()
	if opts.Questions {
		rows = append(rows, source.QuestionResources()...)
	}
	if opts.Kinds != nil {
		rows = append(rows, source.ReviewResources()...)
	}
	for _, r := range rows {
		if !opts.Wants(r.Kind) || r.Custom && c.custom(&r) == nil {
			continue
		}
		example := runtime.Object(r.New())
		if r.Custom {
			example = untyped(&r)
		}
		kept := &kindMirror{Resource: r, example: example}
		transform := k.transform(kept)
		kept.confirm = api.Follow(r.String(), c.keptListWatch(&r, transform), newPages(c.metadataList(&r)).read)
		kept.lw = cache.ToListWatcherWithWatchListSemantics(k.noticing(&r, kept.confirm.ListWatch()), c.of(&r))
		kept.mirror = newMirror(transform, k.handler(&r))
		k.resources[r.Kind] = kept
	}
	return k
}

// noticing clears the problem of a resource once it can be watched: it has been listed before that. It reports a problem
// for a server that cannot be reached or is too busy, which a reflector retries silently.
func (k *Source) noticing(r *source.Resource, lw *cache.ListWatch) *cache.ListWatch {
	inner := lw.WatchFuncWithContext
	kind := r.Kind
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

// OnCondition implements source.Gated.
func (k *Source) OnCondition(f func(pod object.Ref)) { k.condition = f }

// Run lists and watches until ctx ends. An API that cannot be reached, or refuses, is a Problem and is retried forever.
func (k *Source) Run(ctx context.Context) error {
	ctx = logr.NewContext(ctx, logr.New(&logSink{log: k.log}))
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	k.running = true
	k.mu.Unlock()
	running.Go(func() { k.judgeDepartures(ctx) })
	start := func(r *kindMirror) {
		running.Go(func() { r.run(ctx, r.lw, r.example, func(err error) { k.failed(&r.Resource, err) }) })
		running.Go(func() { k.await(ctx, r) })
		running.Go(func() {
			select {
			case <-r.synced:
				r.confirm.Run(ctx, r.Store)
			case <-ctx.Done():
			}
		})
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
func (k *Source) await(ctx context.Context, r *kindMirror) {
	select {
	case <-ctx.Done():
		return
	case <-r.synced:
	}
	k.mu.Lock()
	delete(k.refused, r.Kind)
	delete(k.absent, r.Kind)
	k.mu.Unlock()
	k.log.WithField("resource", r.String()).Debug("cluster objects read")
	k.Ring()
}

// handler marks what changes. The kind of change only matters if a deletion was seen, or an object is missing from a list
// after a gap in the watch.
func (k *Source) handler(r *source.Resource) cache.ResourceEventHandler {
	if r.Kind == object.KindEndpoints {
		return k.adapter.handler(k.Mark, func(refs ...object.Ref) { k.MarkGone(source.Deleted, refs...) })
	}
	refOf := func(o any) (object.Ref, bool) {
		switch o := o.(type) {
		case metav1.ObjectMetaAccessor:
			return r.Ref(o.GetObjectMeta()), true
		case cache.DeletedFinalStateUnknown: // went while the watch was down
			ns, name, err := cache.SplitMetaNamespaceKey(o.Key)
			return object.Ref{Kind: r.Kind, Namespace: ns, Name: name}, err == nil
		default:
			return object.Ref{}, false
		}
	}
	mark := func(o any) {
		if ref, ok := refOf(o); ok {
			k.Mark(ref)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: mark,
		DeleteFunc: func(o any) {
			if ref, ok := refOf(o); ok {
				k.readable(ref)
				_, missing := o.(cache.DeletedFinalStateUnknown)
				how := source.Missing
				switch {
				case !missing && object.IsClusterPolicy(r.Kind):
					k.departures.add(r, ref)
					return
				case !missing:
					how = source.Deleted
				case k.resources[r.Kind].confirm.WentBack():
					how = source.Lost
				}
				k.MarkGone(how, ref)
			}
		},
		UpdateFunc: func(before, after any) {
			if k.condition != nil && onlyCondition(before, after) {
				if ref, ok := refOf(after); ok {
					k.condition(ref)
				}
				return
			}
			if !equalKept(before, after) || (r.SDWAN || object.IsPolicy(r.Kind)) && generation(before) != generation(after) {
				mark(after)
			}
		},
	}
}

// generation returns the generation of an object as it is kept.
func generation(kept any) int64 {
	if o, ok := kept.(metav1.ObjectMetaAccessor); ok {
		return o.GetObjectMeta().GetGeneration()
	}
	return 0
}

// failed records that a resource cannot be listed or watched at present.
func (k *Source) failed(r *source.Resource, err error) {
	p := object.Problem{Place: object.Place{Path: r.String()}, Message: cause.Of(err).Error()}
	if k.server != "" {
		p.Message = "API server " + k.server + ": " + p.Message
	}
	lacks := k.lacks(r, err)
	k.mu.Lock()
	if k.absent[r.Kind] && !isRefusal(err) {
		k.mu.Unlock()
		return // the API is away, which other kinds report; when it last answered, it had no such kind
	}
	k.refuse(r, err)
	if lacks && k.isUnavailable(r.Kind) {
		isNew := !k.absent[r.Kind]
		k.absent[r.Kind] = true
		k.setFailure(r.Kind, nil, nil)
		k.mu.Unlock()
		if isNew {
			k.log.WithField("resource", r.String()).Debug("the API does not have this kind")
			k.Ring()
		}
		return
	}
	delete(k.absent, r.Kind)
	if !k.isUnavailable(r.Kind) {
		p.Unread = object.UnreadResource
	} else {
		p.Message += "; what was written for such objects stays as it is until they can be read"
	}
	isNew := k.setFailure(r.Kind, []object.Problem{p}, cause.Of(err))
	k.mu.Unlock()
	if isNew {
		k.Ring()
	}
}

func (k *Source) recovered(kind string) {
	k.mu.Lock()
	was := k.setFailure(kind, nil, nil)
	k.mu.Unlock()
	if was {
		k.Ring()
	}
}

// setFailure records why a kind cannot be watched, nil if it can, and reports whether that is a change. The lock is held.
func (k *Source) setFailure(kind string, problems []object.Problem, err error) bool {
	if err == nil {
		delete(k.failures, kind)
	} else {
		k.failures[kind] = err
	}
	return k.problems.Set(object.Ref{Kind: kind}, problems)
}

// Synced reports whether every kind has been listed once, except unavailable ones.
func (k *Source) Synced() bool {
	k.mu.Lock()
	running := k.running
	k.mu.Unlock()
	if !running {
		return false
	}
	for kind, r := range k.inUse() {
		if !r.hasSynced() && k.waitsFor(kind) {
			return false
		}
	}
	return true
}

// Get returns the object of that name as last delivered by the API.
func (k *Source) Get(ref object.Ref) (runtime.Object, bool) {
	o, ok := k.Hold(ref)
	if !ok {
		return nil, false
	}
	return o.Object(), true
}

// Hold implements source.Holder.
func (k *Source) Hold(ref object.Ref) (source.Held, bool) {
	if ref.Kind == object.KindEndpointSlice && !k.uses(ref.Kind) {
		if s, ok := k.adapter.get(ref); ok {
			return source.Typed(s), true
		}
		return nil, false
	}
	r, ok := k.resources[ref.Kind]
	if !ok || ref.Kind == object.KindEndpoints {
		return nil, false
	}
	o, found, err := r.GetByKey(ref.NamespacedName())
	if err != nil || !found {
		return nil, false
	}
	if _, unknown := o.(*metav1.PartialObjectMetadata); unknown && !r.Metadata {
		return nil, false
	}
	if p, ok := o.(*compactPod); ok {
		return p, true
	}
	typed, ok := o.(source.Object)
	return source.Typed(typed), ok
}

// Proofs implements source.Prover. A kind that the API does not have, or that could never be read, is left out.
func (k *Source) Proofs() []source.Proof {
	var out []source.Proof
	inUse := k.inUse()
	for _, kind := range k.Unavailable() {
		delete(inUse, kind)
	}
	k.mu.Lock()
	maps.DeleteFunc(inUse, func(kind string, _ *kindMirror) bool { return k.absent[kind] })
	k.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(inUse)) {
		out = append(out, inUse[kind].confirm.Proof())
	}
	return out
}

// Problems lists the resources that cannot be watched at present, and the objects that do not fit their type, in order. The
// list must not be changed.
func (k *Source) Problems() []object.Problem {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problems.All()
}
