package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	typedcoordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/netloom/netloom/pkg/daemon"
)

const (
	leaseName, leaseSpace = "netloom", "netloom-system"

	clientTimeout = daemon.DefaultRenewDeadline / 2
	deafness      = time.Minute
)

// leases is an API that keeps Leases, as far as one client sees it. Like a server, it refuses to write over what has
// changed; client-go's own fake does not.
type leases struct {
	*fake.Clientset
	state *leaseState

	mu    sync.Mutex
	fault error // of every request
	hangs bool  // requests are not answered: clients give up after clientTimeout
	deaf  bool  // nor do clients give up
}

// leaseState is what all clients share.
type leaseState struct {
	mu      sync.Mutex
	version int
	holders []string // each that was written and differs from the one before
}

func newLeases() *leases { return &leases{Clientset: fake.NewClientset(), state: &leaseState{}} }

// client is another client of the same API, which fares as this one does now.
func (l *leases) client() *leases {
	return &leases{Clientset: l.Clientset, state: l.state, fault: l.fault}
}

func (l *leases) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// Leases has an API be one.
func (l *leases) Leases(namespace string) typedcoordinationv1.LeaseInterface {
	return &leaseClient{l.CoordinationV1().Leases(namespace), l}
}

type leaseClient struct {
	typedcoordinationv1.LeaseInterface
	of *leases
}

// pass lets a request through, or not.
func (c *leaseClient) pass(ctx context.Context) error {
	c.of.mu.Lock()
	fault, hangs, deaf := c.of.fault, c.of.hangs, c.of.deaf
	c.of.mu.Unlock()
	switch {
	case hangs && deaf:
		time.Sleep(deafness)
	case hangs:
		ctx, cancel := context.WithTimeout(ctx, clientTimeout)
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	return fault
}

func (c *leaseClient) Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	return c.LeaseInterface.Get(ctx, name, opts)
}

func (c *leaseClient) Create(ctx context.Context, o *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error) {
	if err := c.pass(ctx); err != nil {
		return nil, err
	}
	c.of.state.mu.Lock()
	defer c.of.state.mu.Unlock()
	o = o.DeepCopy()
	c.of.state.wrote(o)
	return c.LeaseInterface.Create(ctx, o, opts)
}

func (c *leaseClient) Update(ctx context.Context, o *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error) {
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

func (s *leaseState) wrote(o *coordinationv1.Lease) {
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

// holders lists who was written into the Lease, in order.
func (l *leases) holders() []string {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return append([]string(nil), l.state.holders...)
}

// edit changes the Lease as a person would.
func (l *leases) edit(t *testing.T, change func(*coordinationv1.LeaseSpec)) {
	t.Helper()
	all := l.client().Leases(leaseSpace)
	o, err := all.Get(t.Context(), leaseName, metav1.GetOptions{})
	require.NoError(t, err)
	o = o.DeepCopy()
	change(&o.Spec)
	_, err = all.Update(t.Context(), o, metav1.UpdateOptions{})
	require.NoError(t, err)
}

// take gives the Lease to somebody who will not renew it.
func (l *leases) take(t *testing.T, holder string) {
	t.Helper()
	l.edit(t, func(s *coordinationv1.LeaseSpec) {
		now := metav1.NowMicro()
		s.HolderIdentity, s.AcquireTime, s.RenewTime = &holder, &now, &now
	})
}

// replica is an instance whose work is to be told of.
type replica struct {
	*daemon.Election
	t      *testing.T
	name   string
	leases *leases
	diary  *diary
	ending time.Duration // how long its work takes to end
	stop   func()        // ends it and waits for that
	done   chan error
}

// diary is what happened, and when.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, what)
}

// read returns what was added since it was called last.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.lines
	d.lines = nil
	return out
}

// newReplica makes an instance that stands for election until the test ends or stops it.
func newReplica(t *testing.T, name string, of *leases, d *diary) *replica {
	t.Helper()
	r := &replica{t: t, name: name, leases: of.client(), diary: d, done: make(chan error, 1)}
	r.Election = daemon.NewElection(daemon.Leader{
		Enabled: true, Namespace: leaseSpace, Name: leaseName, Identity: name, Leases: r.leases,
	}, r.work, testLog(t))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { r.done <- r.Run(ctx) }()
	r.stop = func() {
		r.stop = func() {}
		cancel()
		require.NoError(t, <-r.done)
	}
	t.Cleanup(func() { r.stop() })
	return r
}

func (r *replica) work(ctx context.Context) error {
	r.diary.add(r.name + " begins")
	<-ctx.Done()
	time.Sleep(r.ending)
	r.diary.add(fmt.Sprintf("%s ends: %v", r.name, context.Cause(ctx)))
	return nil
}
