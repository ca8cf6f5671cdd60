package webhook

import (
	"context"
	"errors"
	"sync"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// feed keeps one resource: it tells put and remove what is there.
type feed struct {
	resource string // in the plural
	kind     string
	reads    objects
	put      func(metav1.Object)
	remove   func(namespace, name string)
	trim     func(any) (any, error) // what is kept of an object; nil keeps all but managed fields
	optional bool                   // without the right to list it, or the resource itself, judging goes on

	informer cache.SharedIndexInformer
	synced   cache.InformerSynced

	mu     sync.Mutex
	failed error // why it could not be listed or watched last; nil if it could
}

// objects are those of one resource, and how they are read.
type objects struct {
	listWatch cache.ListWatch
	client    any
	example   runtime.Object
}

// lister reads the objects of one resource.
type lister[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// objectsOf are those that a client finds by from, with that label where it is not "".
func objectsOf[L runtime.Object](from lister[L], client any, example runtime.Object, label string) objects {
	return objects{client: client, example: example, listWatch: cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = label
			return from.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = label
			return from.Watch(ctx, opts)
		},
	}}
}

// prepare makes the informer. It has to be called once, before anything else.
func (f *feed) prepare(log logrus.FieldLogger) error {
	lw := f.reads.listWatch
	lw.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
		w, err := f.reads.listWatch.WatchFuncWithContext(ctx, opts)
		if err == nil {
			f.recovered(log)
		}
		return w, err
	}
	f.informer = cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&lw, f.reads.client), f.reads.example, cache.SharedIndexInformerOptions{})
	trim := f.trim
	if trim == nil {
		trim = withoutManagedFields
	}
	if err := f.informer.SetTransform(trim); err != nil {
		return err
	}
	err := f.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if refusal := new(apierrors.StatusError); errors.As(err, &refusal) {
			err = refusal // without what the client says of its own types
		}
		f.mu.Lock()
		news := f.failed == nil || f.failed.Error() != err.Error()
		f.failed = err
		f.mu.Unlock()
		if news {
			log.WithError(err).WithField("resource", f.resource).Warn("cannot list or watch")
		}
	})
	if err != nil {
		return err
	}
	put := func(o any) {
		if m, ok := o.(metav1.Object); ok {
			f.put(m)
		}
	}
	registration, err := f.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, o any) { put(o) },
		DeleteFunc: func(o any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
				namespace, name, _ := cache.SplitMetaNamespaceKey(key) // it was made of them
				f.remove(namespace, name)
			}
		},
	})
	if err != nil {
		return err
	}
	f.synced = registration.HasSynced
	return nil
}

// recovered forgets what went wrong, as there is a watch again.
func (f *feed) recovered(log logrus.FieldLogger) {
	f.mu.Lock()
	was := f.failed != nil
	f.failed = nil
	f.mu.Unlock()
	if was {
		log.WithField("resource", f.resource).Info("watching again")
	}
}

// run lists and watches until ctx ends. What client-go has to say about it, the error handler says.
func (f *feed) run(ctx context.Context) {
	f.informer.RunWithContext(logr.NewContext(ctx, logr.Discard()))
}

// known says whether everything that is there has been put once.
func (f *feed) known() bool { return f.synced != nil && f.synced() }

// missing says why nothing can be judged that needs f; "" if it can.
func (f *feed) missing() string {
	if f.known() {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed == nil:
		return f.resource + " have not been listed"
	case f.optional && (apierrors.IsForbidden(f.failed) || apierrors.IsNotFound(f.failed)):
		return ""
	default:
		return f.resource + " have not been listed: " + f.failed.Error()
	}
}

// degraded says what is judged without f, or by what f was; "" while all is well.
func (f *feed) degraded() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failed == nil:
		return ""
	case f.known():
		return "degraded: " + f.resource + " may have changed since they were listed: " + f.failed.Error()
	case f.optional:
		return "degraded: " + f.resource + " are not missed where something refers to them: " + f.failed.Error()
	default:
		return "" // nothing is judged without it
	}
}

// withoutManagedFields takes off an object what is often the larger part of it.
func withoutManagedFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}
