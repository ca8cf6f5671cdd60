// Package electiontest is an API of Leases for tests of elections.
package electiontest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/netloom/netloom/pkg/election"
)

// The Lease that all tests use.
const (
	Name      = "netloom"
	Namespace = "netloom-system"
)

const (
	clientTimeout = election.DefaultRenewDeadline / 2
	// Deafness is how long a request takes that hangs and cannot be canceled.
	Deafness = time.Minute
)

// Leases is an API that stores Leases, as one client sees it. Like a server, it rejects an update of an object that has
// changed; client-go's own fake does not.
type Leases struct {
	*fake.Clientset
	state *state

	mu    sync.Mutex
	fault Fault
}

// Fault is what goes wrong with each request of a client.
type Fault struct {
	Err   error // what the API answers
	Hangs bool  // it does not answer: clients give up after a while
	Deaf  bool  // nor do clients give up
}

// state is what all clients share.
type state struct {
	mu      sync.Mutex
	version int
	holders []string // each that was written and differs from the one before
}

// New makes an API without Leases.
func New() *Leases { return &Leases{Clientset: fake.NewClientset(), state: &state{}} }

// Client is another client of the same API. At first it has the fault that this one has now.
func (l *Leases) Client() *Leases {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Leases{Clientset: l.Clientset, state: l.state, fault: l.fault}
}

// Fail makes each request of this client fail from now on. The zero value ends that.
func (l *Leases) Fail(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

// Options returns those of an instance that takes part in the election by a client of its own.
func (l *Leases) Options(identity string) election.Options {
	return election.Options{Enabled: true, Namespace: Namespace, Name: Name, Identity: identity, Leases: l.Client()}
}

// Holders lists the holders written to the Lease, in order.
func (l *Leases) Holders() []string {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return slices.Clone(l.state.holders)
}

// Writes is how often the Lease was written.
func (l *Leases) Writes() int {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return l.state.version
}

// Edit changes the Lease as a user would: again if an instance has written it in between. It may be called from any goroutine.
func (l *Leases) Edit(t *testing.T, change func(*coordinationv1.LeaseSpec)) {
	t.Helper()
	all := l.Client().Leases(Namespace)
	for {
		o, err := all.Get(t.Context(), Name, metav1.GetOptions{})
		if err == nil {
			o = o.DeepCopy()
			change(&o.Spec)
			_, err = all.Update(t.Context(), o, metav1.UpdateOptions{})
		}
		if !apierrors.IsConflict(err) {
			assert.NoError(t, err)
			return
		}
	}
}

// Take gives the Lease to a holder that will not renew it.
func (l *Leases) Take(t *testing.T, holder string) {
	t.Helper()
	l.Edit(t, func(s *coordinationv1.LeaseSpec) {
		now := metav1.NowMicro()
		s.HolderIdentity, s.AcquireTime, s.RenewTime = &holder, &now, &now
	})
}

// Give gives the Lease to a holder for good, whether or not it exists yet. With "" as the holder, any instance may take it.
func (l *Leases) Give(t *testing.T, holder string) {
	t.Helper()
	all := l.Client().Leases(Namespace)
	seconds := int32(time.Hour / time.Second)
	if _, err := all.Get(t.Context(), Name, metav1.GetOptions{}); err != nil {
		_, err = all.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name}}, metav1.CreateOptions{})
		assert.NoError(t, err)
	}
	l.Edit(t, func(s *coordinationv1.LeaseSpec) { s.HolderIdentity, s.LeaseDurationSeconds = &holder, &seconds })
}

// Leases implements the client that an election uses.
func (l *Leases) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return &client{l.CoordinationV1().Leases(namespace), l}
}

type client struct {
	typedcoordinationv1.LeaseInterface
	of *Leases
}

// pass applies the fault of the client to a request.
func (c *client) pass(ctx context.Context) error {
	c.of.mu.Lock()
	fault := c.of.fault
	c.of.mu.Unlock()
	switch {
	case fault.Hangs && fault.Deaf:
		time.Sleep(Deafness) // pause: on the clock of the bubble that an election is tested in
	case fault.Hangs:
		ctx, cancel := context.WithTimeout(ctx, clientTimeout)
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	return fault.Err
}

// Get returns a Lease.
func (c *client) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	return c.LeaseInterface.Get(ctx, name, opts)
}

// Create stores a new Lease.
func (c *client) Create(ctx context.Context, o *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	c.of.state.mu.Lock()
	defer c.of.state.mu.Unlock()
	o = o.DeepCopy()
	c.of.state.wrote(o)
	return c.LeaseInterface.Create(ctx, o, opts)
}

// Update replaces a Lease that has not changed since it was read.
func (c *client) Update(ctx context.Context, o *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	c.of.state.mu.Lock()
	defer c.of.state.mu.Unlock()
	was, err := c.LeaseInterface.Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if was.ResourceVersion != o.ResourceVersion {
		return nil, apierrors.NewConflict(coordinationv1.Resource("leases"), o.Name, errors.New("changed"))
	}
	o = o.DeepCopy()
	c.of.state.wrote(o)
	return c.LeaseInterface.Update(ctx, o, opts)
}

func (s *state) wrote(o *coordinationv1.Lease) {
	s.version++
	o.ResourceVersion = strconv.Itoa(s.version)
	holder := ""
	if o.Spec.HolderIdentity != nil {
		holder = *o.Spec.HolderIdentity
	}
	if n := len(s.holders); n == 0 || s.holders[n-1] != holder {
		s.holders = append(s.holders, holder)
	}
}
