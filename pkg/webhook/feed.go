package webhook

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// feed keeps one resource: it tells put and remove what is there.
type feed struct {
	resource string // in the plural
	kind     string
	informer cache.SharedIndexInformer
	put      func(metav1.Object)
	remove   func(namespace, name string)
	trim     func(any) (any, error) // what is kept of an object; nil keeps all but managed fields
	optional bool                   // without the right to list it, or the resource itself, judging goes on

	synced cache.InformerSynced

	mu     sync.Mutex
	failed error // why it could not be listed or watched last; nil if it could
}

// prepare connects the informer. It fails only when called twice.
func (f *feed) prepare(log logrus.FieldLogger) error {
	trim := f.trim
	if trim == nil {
		trim = withoutManagedFields
	}
	if err := f.informer.SetTransform(trim); err != nil {
		return err
	}
	err := f.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
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

// withoutManagedFields takes off an object what is often the larger part of it.
func withoutManagedFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	return o, nil
}
