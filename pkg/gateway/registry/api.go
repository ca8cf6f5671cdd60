package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/gateway/definition"
	"github.com/netloom/netloom/pkg/inputs/confirm"
)

// APIOptions configure what reads UpstreamClusters from an API.
type APIOptions struct {
	ReadOnly bool   // no status is written: another process serves the objects
	Changed  func() // called after each change of State; nil calls nothing
}

// API watches the UpstreamClusters of a host cluster, and writes their status. Make it with NewAPI.
type API struct {
	opts     APIOptions
	client   dynamic.NamespaceableResourceInterface
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	confirm  *confirm.Kind
	queue    workqueue.TypedRateLimitingInterface[string]
	set      Set
	log      logrus.FieldLogger
	state    watched

	conflicts map[string]string // by cluster, as last reported; used by Run only
	beyond    map[string]bool   // the clusters that were last reported not to be served because of their age; used by Run only
}

// allServed is in the queue after every object that was listed first. No object has this name.
const allServed = ""

// resyncTime is how often objects are looked at whose status somebody else may have changed.
const resyncTime = 10 * time.Minute

// The reasons of the condition Accepted.
const (
	reasonServed   = "Served"
	reasonInvalid  = "Invalid"  // the object has faults: its last version without faults is served
	reasonConflict = "Conflict" // host names of the cluster belong to others: the rest is served
	reasonBeyond   = "Beyond"   // older clusters take all places: it is not served
)

// NewAPI makes a source that reads nothing before Run.
func NewAPI(client dynamic.Interface, set Set, opts APIOptions, log logrus.FieldLogger) (*API, error) {
	a := &API{
		opts: opts, client: client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)), set: set, log: log,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		state: watched{changed: opts.Changed}, conflicts: map[string]string{}, beyond: map[string]bool{},
	}
	var informed cache.SharedIndexInformerOptions
	if !opts.ReadOnly {
		informed.ResyncPeriod = resyncTime
	}
	upstreams := a.listWatch()
	a.confirm = confirm.NewAPI(confirm.Options{}, log).Follow("upstreamclusters", upstreams, upstreams.ListWithContextFunc)
	lw := cache.ToListWatcherWithWatchListSemantics(a.confirm.ListWatch(), client)
	a.informer = cache.NewSharedIndexInformerWithOptions(lw, &unstructured.Unstructured{}, informed)
	if err := a.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { a.failed(err) }); err != nil {
		return nil, err
	}
	enqueue := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			a.queue.Add(key)
		}
	}
	var err error
	a.handler, err = a.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }, DeleteFunc: enqueue})
	return a, err
}

// listWatch lists and watches the objects, and notes whether that is possible.
func (a *API) listWatch() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return a.client.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := a.client.Watch(ctx, opts)
			switch {
			case err == nil:
				a.state.readable()
			case utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err): // the informer retries it silently
				a.failed(err)
			}
			return w, err
		},
	}
}

// failed records that the objects cannot be listed or watched at present.
func (a *API) failed(err error) {
	why := cause.Of(err).Error()
	if !slices.Contains(a.state.get().Faults, why) {
		a.log.WithError(err).Error("UpstreamClusters cannot be read; what was served before is still served")
	}
	a.state.unreadable(why)
}

// State returns what is known about the objects.
func (a *API) State() State {
	s := a.state.get()
	s.Proof = a.confirm.Proof()
	return s
}

// Run watches until ctx ends.
func (a *API) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	watching.Go(func() { a.informer.RunWithContext(ctx) })
	watching.Go(func() {
		select {
		case <-a.handler.HasSyncedChecker().Done():
			a.queue.Add(allServed)
			a.confirm.Run(ctx, a.informer.GetStore())
		case <-ctx.Done():
		}
	})
	watching.Go(func() {
		<-ctx.Done()
		a.queue.ShutDown()
	})
	for {
		name, stopped := a.queue.Get()
		if stopped {
			watching.Wait()
			return nil
		}
		if name == allServed {
			a.state.synced()
		} else if err := a.sync(ctx, name); err != nil {
			a.log.WithField("cluster", name).WithError(err).Warn("the status of an UpstreamCluster cannot be written")
			a.queue.AddRateLimited(name)
		} else {
			a.queue.Forget(name)
		}
		a.queue.Done(name)
		if a.queue.Len() == 0 {
			a.refresh()
		}
	}
}

// sync has a cluster served as its object is now, and writes its status, unless it only reads.
func (a *API) sync(ctx context.Context, name string) error {
	found, exists, err := a.informer.GetStore().GetByKey(name)
	if err != nil {
		return err
	}
	object, ok := found.(*unstructured.Unstructured)
	if !exists || !ok {
		a.set.Delete(name)
		delete(a.conflicts, name)
		delete(a.beyond, name)
		return nil
	}
	condition := a.serve(object)
	if a.opts.ReadOnly {
		return nil
	}
	_, err = a.report(ctx, object, condition)
	return err
}

// refresh looks again at the clusters whose standing has changed since then: another one has taken a host name or a place, or left it.
func (a *API) refresh() {
	for _, name := range a.informer.GetStore().ListKeys() {
		if a.set.Conflict(name) != a.conflicts[name] || a.set.Beyond(name) != a.beyond[name] {
			a.queue.Add(name)
		}
	}
}

func (a *API) serve(object *unstructured.Unstructured) metav1.Condition {
	c := metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: reasonInvalid, ObservedGeneration: object.GetGeneration(),
	}
	cluster, err := check(object)
	if err == nil {
		err = a.set.Put(cluster)
	} else {
		a.set.Reject(object.GetName(), err)
	}
	conflict := a.set.Conflict(object.GetName())
	a.conflicts[object.GetName()] = conflict
	delete(a.beyond, object.GetName())
	switch {
	case errors.Is(err, ErrBeyond):
		a.beyond[object.GetName()] = true
		c.Reason, c.Message = reasonBeyond, shorten(err.Error())
		a.log.WithField("cluster", object.GetName()).WithError(err).Error("a cluster is not served")
	case err != nil:
		c.Message = shorten("The last version without faults is served, if there is one: " + err.Error())
		a.log.WithField("cluster", object.GetName()).WithError(err).Error("an object has faults; its last version without faults is served")
	case conflict != "":
		c.Reason, c.Message = reasonConflict, shorten(conflict)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonServed, "This version is served."
	}
	return c
}

// check decodes an object. Fields that its CRD does not have, the server has removed; those of metadata are the server's.
func check(object *unstructured.Unstructured) (*v1alpha1.UpstreamCluster, error) {
	plain := object.DeepCopy()
	plain.SetManagedFields(nil)
	delete(plain.Object, "status")
	raw, err := json.Marshal(plain)
	if err != nil {
		return nil, err
	}
	return definition.Check(raw)
}

// maxMessage is how long the message of a condition may be.
const maxMessage = 32 << 10

func shorten(message string) string {
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "")
	}
	return message
}

// report writes conditions, unless the object has them. Several gateways for one host cluster come to the same result about Accepted, so
// that they do not overwrite each other. Somebody else may have been faster: then the watch delivers what is there now.
func (a *API) report(ctx context.Context, object *unstructured.Unstructured, conditions ...metav1.Condition) (wrote bool, err error) {
	var status v1alpha1.UpstreamClusterStatus
	if raw, found := object.Object["status"].(map[string]any); found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return false, err
		}
	}
	before := status.DeepCopy()
	for _, c := range conditions {
		meta.SetStatusCondition(&status.Conditions, c)
	}
	if equality.Semantic.DeepEqual(before, &status) {
		return false, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return false, err
	}
	next := object.DeepCopy()
	next.Object["status"] = content
	_, err = a.client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write a status: %w", err)
	}
	return true, nil
}
