package credential

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
)

const (
	everyFile   = 10 * time.Second
	secretTimes = 3               // Secrets cost more than files
	firstRetry  = 2 * time.Second // after the first failure; it doubles each time, up to lastRetry
	lastRetry   = time.Minute
)

// Options configure a Keeper. Log is required.
type Options struct {
	Log     logrus.FieldLogger
	Users   *Users                 // nil if there are none
	Secrets corev1.SecretInterface // of one namespace; nil if there are none
	// Every is how often files are looked at again, Secrets a third as often; 0 is 10 seconds.
	Every time.Duration
	// Changed is called when Resolve would return another version of the object of a cluster.
	Changed func(name string)
}

// Keeper keeps the credentials of clusters current. Make it with New. It is safe for concurrent use.
type Keeper struct {
	ctx     context.Context //nolint:containedctx // what is kept ends with the keeper
	opts    Options
	running sync.WaitGroup

	mu   sync.Mutex
	kept map[string]*keeping
}

// New makes a keeper, which works until ctx ends.
func New(ctx context.Context, opts Options) *Keeper {
	return &Keeper{ctx: ctx, opts: opts, kept: map[string]*keeping{}}
}

// keeping is the credentials of one cluster.
type keeping struct {
	object *v1alpha1.UpstreamCluster
	source source
	every  time.Duration
	log    logrus.FieldLogger
	wake   chan struct{} // the credentials were refused
	stop   context.CancelFunc

	mu    sync.Mutex
	now   *credential // nil before there are any
	fault error
}

// Resolve returns object with the credentials that it refers to, as far as they are known: otherwise the reference is still there. It does
// not wait for them.
func (k *Keeper) Resolve(object *v1alpha1.UpstreamCluster) *v1alpha1.UpstreamCluster {
	if object.Spec.ClientConfig.Credentials == nil {
		k.Forget(object.Name)
		return object
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	one := k.kept[object.Name]
	if one == nil || !one.serves(object) {
		if one != nil {
			one.stop()
		}
		one = k.keep(object)
		k.kept[object.Name] = one
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.now == nil {
		return object
	}
	return one.now.into(object)
}

// serves reports whether the credentials are those of object: what they depend on is the same.
func (o *keeping) serves(object *v1alpha1.UpstreamCluster) bool {
	return equality.Semantic.DeepEqual(o.object.Spec.ClientConfig, object.Spec.ClientConfig) &&
		equality.Semantic.DeepEqual(o.object.Spec.Servers, object.Spec.Servers)
}

// keep starts to keep the credentials of object. The caller holds the lock.
func (k *Keeper) keep(object *v1alpha1.UpstreamCluster) *keeping {
	ctx, stop := context.WithCancel(k.ctx)
	one := &keeping{object: object.DeepCopy(), log: k.opts.Log.WithField("cluster", object.Name), wake: make(chan struct{}, 1), stop: stop}
	one.source, one.every = k.opts.sourceOf(one.object, one.log)
	k.running.Go(func() { one.run(ctx, func() { k.opts.Changed(object.Name) }) })
	return one
}

func (o *Options) sourceOf(object *v1alpha1.UpstreamCluster, log logrus.FieldLogger) (from source, every time.Duration) {
	refers := object.Spec.ClientConfig.Credentials
	every = cmp.Or(o.Every, everyFile)
	from = &userSource{users: o.Users, name: refers.User, of: object, log: log}
	if refers.SecretName != "" {
		from, every = &secretSource{secrets: o.Secrets, name: refers.SecretName, cluster: object.Name}, every*secretTimes
	}
	if refers.TokenRequest != nil {
		from = &renewing{base: from, wanted: refers.TokenRequest, of: object, log: log}
	}
	return from, every
}

// Obtain returns object with the credentials that it refers to, once.
func Obtain(ctx context.Context, object *v1alpha1.UpstreamCluster, opts Options) (*v1alpha1.UpstreamCluster, error) {
	if object.Spec.ClientConfig.Credentials == nil {
		return object, nil
	}
	from, _ := opts.sourceOf(object, opts.Log)
	got, err := from.obtain(ctx, false)
	if err == nil {
		err = got.check()
	}
	if err != nil {
		return nil, err
	}
	return got.into(object), nil
}

// Forget keeps the credentials of a cluster no longer.
func (k *Keeper) Forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.kept[name]; one != nil {
		one.stop()
		delete(k.kept, name)
	}
}

// Refused has the credentials of a cluster obtained again soon: an API server does not accept them.
func (k *Keeper) Refused(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if one := k.kept[name]; one != nil {
		select {
		case one.wake <- struct{}{}:
		default:
		}
	}
}

// Fault returns why the credentials of a cluster cannot be obtained at present, nil if they can; kept is false if it does not refer to any.
func (k *Keeper) Fault(name string) (fault error, kept bool) {
	k.mu.Lock()
	one := k.kept[name]
	k.mu.Unlock()
	if one == nil {
		return nil, false
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.fault, true
}

// Close forgets all clusters, and waits until nothing runs for them.
func (k *Keeper) Close() {
	k.mu.Lock()
	for name, one := range k.kept {
		one.stop()
		delete(k.kept, name)
	}
	k.mu.Unlock()
	k.running.Wait()
}

// run obtains the credentials again and again until ctx ends.
func (o *keeping) run(ctx context.Context, changed func()) {
	force, fails := false, 0
	for {
		different, err := o.look(ctx, force)
		if ctx.Err() != nil {
			return
		}
		if different {
			changed()
		}
		pause := o.every
		if fails++; err == nil {
			fails = 0
		} else {
			pause = min(o.retry()<<min(fails-1, 10), lastRetry)
		}
		timer := time.NewTimer(pause*9/10 + rand.N(pause/5+1)) //nolint:gosec // it spreads load, and protects nothing
		select {
		case <-timer.C:
			force = false
		case <-o.wake:
			force = true
			wait(ctx, o.retry()) // so that credentials that are refused again and again are not obtained all the time
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

func (o *keeping) retry() time.Duration { return min(firstRetry, o.every) }

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// look obtains the credentials, and reports whether they differ from those before.
func (o *keeping) look(ctx context.Context, force bool) (different bool, err error) {
	got, err := o.source.obtain(ctx, force)
	var later *notRenewedError
	usable := err == nil || errors.As(err, &later)
	if usable {
		if unusable := got.check(); unusable != nil {
			usable, err = false, unusable
		}
	}
	if ctx.Err() != nil {
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tell(err)
	o.fault = err
	if !usable || o.now != nil && o.now.equal(got) {
		return false, err
	}
	o.now = got
	return true, err
}

// tell logs what is new about the credentials. The caller holds the lock.
func (o *keeping) tell(err error) {
	switch {
	case err != nil && (o.fault == nil || o.fault.Error() != err.Error()):
		text := "the credentials of a cluster cannot be obtained"
		if o.now != nil {
			text += "; the last ones are used"
		}
		o.log.WithError(err).Error(text)
	case err == nil && o.fault != nil:
		o.log.Info("the credentials of a cluster can be obtained again")
	}
}
