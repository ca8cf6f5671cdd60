package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/definition"
)

// API watches the UpstreamClusters of a host cluster, and writes their status. Make it with NewAPI.
type API struct {
	client   dynamic.NamespaceableResourceInterface
	informer cache.SharedIndexInformer
	queue    workqueue.TypedRateLimitingInterface[string]
	set      Set
	log      logrus.FieldLogger
}

// The reasons of the condition Accepted.
const (
	reasonServed   = "Served"
	reasonInvalid  = "Invalid"  // the object has faults: its last version without faults is served
	reasonConflict = "Conflict" // host names of the cluster belong to others: the rest is served
)

// NewAPI makes a source that reads nothing before Run.
func NewAPI(client dynamic.Interface, set Set, log logrus.FieldLogger) (*API, error) {
	resource := v1alpha1.GroupVersion.WithResource(v1alpha1.PluralUpstreamCluster)
	a := &API{
		client: client.Resource(resource), set: set, log: log,
		informer: dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 10*time.Minute, cache.Indexers{}, nil).Informer(),
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	enqueue := func(o any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
			a.queue.Add(key)
		}
	}
	_, err := a.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, o any) { enqueue(o) }, DeleteFunc: enqueue})
	return a, err
}

// Synced reports whether all objects have been listed and served.
func (a *API) Synced() bool { return a.informer.HasSynced() && a.queue.Len() == 0 }

// Run watches until ctx ends.
func (a *API) Run(ctx context.Context) error {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		a.informer.RunWithContext(ctx)
	}()
	go func() {
		<-ctx.Done()
		a.queue.ShutDown()
	}()
	for {
		name, stopped := a.queue.Get()
		if stopped {
			<-watched
			return nil
		}
		if err := a.sync(ctx, name); err != nil {
			a.log.WithField("cluster", name).WithError(err).Warn("the status of an UpstreamCluster cannot be written")
			a.queue.AddRateLimited(name)
		} else {
			a.queue.Forget(name)
		}
		a.queue.Done(name)
	}
}

// sync has a cluster served as its object is now, and writes its status. A change of host names concerns other clusters too.
func (a *API) sync(ctx context.Context, name string) error {
	found, exists, err := a.informer.GetStore().GetByKey(name)
	if err != nil {
		return err
	}
	object, ok := found.(*unstructured.Unstructured)
	if !exists || !ok {
		a.set.Delete(name)
		a.refresh(name)
		return nil
	}
	before := a.set.Conflict(name)
	condition := a.serve(object)
	if a.set.Conflict(name) != before {
		a.refresh(name)
	}
	return a.report(ctx, object, condition)
}

// refresh looks at all other clusters again, whose conflicts may have changed.
func (a *API) refresh(except string) {
	for _, name := range a.informer.GetStore().ListKeys() {
		if name != except {
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
	switch {
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
		message = message[:maxMessage]
	}
	return message
}

// report writes the condition, unless the object has it. Several gateways for one host cluster come to the same result, so that
// they do not overwrite each other.
func (a *API) report(ctx context.Context, object *unstructured.Unstructured, condition metav1.Condition) error {
	var status v1alpha1.UpstreamClusterStatus
	if raw, found := object.Object["status"].(map[string]any); found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &status); err != nil {
			return err
		}
	}
	before := status.DeepCopy()
	meta.SetStatusCondition(&status.Conditions, condition)
	if equality.Semantic.DeepEqual(before, &status) {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return err
	}
	next := object.DeepCopy()
	next.Object["status"] = content
	_, err = a.client.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // the watch delivers what is there now
	}
	if err != nil {
		return fmt.Errorf("write a status: %w", err)
	}
	return nil
}
