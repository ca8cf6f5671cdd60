package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/cause"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/object"
)

// objects watches and writes the PolicyStatus objects of an API. It writes none before all existing ones have been read,
// nor while they cannot be read.
type objects struct {
	client  dynamic.NamespaceableResourceInterface
	asked   any    // the client, for the informer
	node    string // of this netloom, if each node has one; "" means the only one
	confirm confirm.Options
	limit   flowcontrol.RateLimiter
	metrics *metrics.Metrics
	tracker *tracker // gets the policies whose object has changed or is gone
	log     logrus.FieldLogger

	mu       sync.Mutex
	store    cache.Store // nil while nothing is watched
	kind     *confirm.Kind
	began    time.Time // when the watch did
	synced   bool
	readErr  error // why they cannot be read; nil if they can, or if it is not known yet
	writeErr error // why the last one could not be written
	echoes   map[object.Ref]*feedback.Echo[*v1alpha1.PolicyStatus]
	waiting  map[object.Ref]bool // policies whose objects could not be written, as none could be read
}

func newObjects(
	client dynamic.Interface, node string, interval time.Duration, m *metrics.Metrics, t *tracker, log logrus.FieldLogger,
) *objects {
	return &objects{
		client: client.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.PluralPolicyStatus)), asked: client, node: node,
		confirm: confirm.Options{Interval: interval},
		limit:   flowcontrol.NewTokenBucketRateLimiter(WriteRate, WriteBurst), metrics: m, tracker: t, log: log,
		echoes: map[object.Ref]*feedback.Echo[*v1alpha1.PolicyStatus]{}, waiting: map[object.Ref]bool{},
	}
}

// Run watches until ctx ends. It may be called again.
func (o *objects) Run(ctx context.Context) error {
	ctx = logr.NewContext(ctx, logr.Discard()) // failed logs errors, once
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return o.client.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			w, err := o.client.Watch(ctx, opts)
			if err == nil {
				o.failed(nil)
			}
			return w, err
		},
	}
	kind := confirm.NewAPI(o.confirm, o.log).Follow(v1alpha1.PluralPolicyStatus+"."+v1alpha1.GroupVersion.Group, lw, lw.ListWithContextFunc)
	informer := cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(kind.ListWatch(), o.asked), &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{})
	if err := informer.SetTransform(policyStatusOf); err != nil {
		return fmt.Errorf("watch %s: %w", v1alpha1.PluralPolicyStatus, err)
	}
	err := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { o.failed(err) })
	if err != nil {
		return fmt.Errorf("watch %s: %w", v1alpha1.PluralPolicyStatus, err)
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    o.delivered,
		UpdateFunc: func(_, now any) { o.delivered(now) },
		DeleteFunc: o.deleted,
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", v1alpha1.PluralPolicyStatus, err)
	}
	o.begin(informer.GetStore(), kind)
	defer o.begin(nil, nil)
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-ctx.Done():
		case <-handler.HasSyncedChecker().Done():
			o.read()
			kind.Run(ctx, informer.GetStore())
		}
	})
	informer.RunWithContext(ctx)
	running.Wait()
	return nil
}

// view tells how current the objects read are known to be; nil while none are read, and before the first comparison is due.
func (o *objects) view() *confirm.Kind {
	o.mu.Lock()
	kind, synced, began := o.kind, o.synced, o.began
	o.mu.Unlock()
	if kind == nil || !synced {
		return nil
	}
	if p := kind.Proof(); p.Confirmed.IsZero() && time.Since(began) <= p.Late {
		return nil
	}
	return kind
}

// begin resets to what a new watch delivers; nil means that there is none.
func (o *objects) begin(store cache.Store, kind *confirm.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kind, o.began = kind, time.Now()
	o.store, o.synced, o.readErr, o.writeErr = store, false, nil, nil
	clear(o.echoes)
}

// read records that all objects have been read.
func (o *objects) read() {
	o.mu.Lock()
	o.synced = true
	o.mu.Unlock()
	o.lookAgain()
}

// lookAgain queues the policies whose objects could not be written before.
func (o *objects) lookAgain() {
	o.mu.Lock()
	waiting := o.waiting
	o.waiting = map[object.Ref]bool{}
	o.mu.Unlock()
	for key := range waiting {
		o.tracker.look(key)
	}
	o.tracker.ring()
}

// failed records why the objects cannot be read; nil means that they can.
func (o *objects) failed(err error) {
	o.mu.Lock()
	was := o.readErr
	o.readErr = err
	o.mu.Unlock()
	switch {
	case err != nil && was == nil:
		o.log.WithError(err).Warn("PolicyStatus objects cannot be read; none are written until they can")
		o.lookAgain() // Events are created nevertheless
	case err == nil && was != nil:
		o.log.Info("PolicyStatus objects can be read again")
		o.lookAgain()
	}
}

// settled reports whether it is known if the objects can be read.
func (o *objects) settled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.synced || o.readErr != nil
}

// writable reports whether the object of a policy may be written now. If not, the policy is queued again once it may.
func (o *objects) writable(key object.Ref) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.synced && o.readErr == nil {
		return true
	}
	o.waiting[key] = true
	return false
}

// degraded returns a line with the reason why objects are not written.
func (o *objects) degraded() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.readErr != nil:
		return []string{"degraded: PolicyStatus objects cannot be read, so none are written: " + cause.Plain(o.readErr)}
	case o.writeErr != nil:
		return []string{"degraded: PolicyStatus objects cannot be written: " + cause.Plain(o.writeErr)}
	}
	return nil
}

func keyOfObject(o metav1.Object) object.Ref {
	return object.Ref{Kind: object.KindNetworkPolicy, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (o *objects) delivered(now any) {
	s, ok := now.(*v1alpha1.PolicyStatus)
	if !ok {
		return
	}
	key := keyOfObject(s)
	o.mu.Lock()
	mine := o.echoes[key]
	expected := mine != nil && (mine.Outdates(s) || mine.Object.ResourceVersion == s.ResourceVersion)
	o.mu.Unlock()
	if !expected {
		o.tracker.look(key)
	}
}

func (o *objects) deleted(was any) {
	var key object.Ref
	var uid string
	switch was := was.(type) {
	case *v1alpha1.PolicyStatus:
		key, uid = keyOfObject(was), string(was.UID)
	case cache.DeletedFinalStateUnknown:
		ns, name, err := cache.SplitMetaNamespaceKey(was.Key)
		if err != nil {
			return
		}
		key = object.Ref{Kind: object.KindNetworkPolicy, Namespace: ns, Name: name}
	default:
		return
	}
	o.mu.Lock()
	if mine := o.echoes[key]; mine != nil && (uid == "" || string(mine.Object.UID) == uid) {
		delete(o.echoes, key)
	}
	o.mu.Unlock()
	o.tracker.lookFirst(key)
}

// current returns the object of a policy, as far as is known; nil if there is none.
func (o *objects) current(key object.Ref) *v1alpha1.PolicyStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.store == nil {
		return nil
	}
	mine := o.echoes[key]
	found, ok, err := o.store.GetByKey(key.Namespace + "/" + key.Name)
	delivered, typed := found.(*v1alpha1.PolicyStatus)
	if err != nil || !ok || !typed {
		if mine.Fresh() {
			return mine.Object
		}
		return nil
	}
	if mine.Outdates(delivered) {
		return mine.Object
	}
	delete(o.echoes, key)
	return delivered
}

// forget drops what is known of the object of a policy that is gone.
func (o *objects) forget(key object.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.echoes, key)
	delete(o.waiting, key)
}

// remember stores what a write made of an object with that resource version.
func (o *objects) remember(key object.Ref, now *v1alpha1.PolicyStatus, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.echoes[key] = o.echoes[key].After(now, version)
}

// policyStatusOf converts an object that a watch delivered, without the managed fields. It leaves what was delivered as it
// is: client-go's fake watch shares the objects that it finds between a list and the watch.
func policyStatusOf(delivered any) (any, error) {
	u, ok := delivered.(*unstructured.Unstructured)
	if !ok {
		return delivered, nil
	}
	out := &v1alpha1.PolicyStatus{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		out = &v1alpha1.PolicyStatus{ObjectMeta: metav1.ObjectMeta{ // it is malformed: it will be overwritten
			Namespace: u.GetNamespace(), Name: u.GetName(), UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
			OwnerReferences: u.GetOwnerReferences(),
		}}
	}
	out.ManagedFields = nil
	return out, nil
}

// ownedBy reports whether an object is owned by the policy of that UID, and by nothing else.
func ownedBy(s *v1alpha1.PolicyStatus, uid string) bool {
	return len(s.OwnerReferences) == 1 && slices.ContainsFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool {
		return string(r.UID) == uid && r.Kind == object.KindNetworkPolicy
	})
}

// managerOf returns the field manager of the targets of a node's netloom. A long name is cut, and ends in a hash.
func managerOf(node string) string {
	const longest = 128 // the limit of the API
	name := feedback.FieldManager
	if node != "" {
		name += "/" + node
	}
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "-" + hex.EncodeToString(sum[:8])
	return name[:longest-len(end)] + end
}

// writeTimeout is how long one write may take.
const writeTimeout = 10 * time.Second
