package quota

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

const (
	period = 5 * time.Second  // between two looks at the Leases; a Lease is written no more often
	renew  = 10 * time.Second // between two writes of a Lease whose demands do not change
	expiry = 30 * time.Second // since a Lease was renewed, until its instance is taken to be away
	stale  = time.Hour        // since then, until its Lease is deleted
	call   = 4 * time.Second  // for one request
)

// Limit is a limit that instances divide.
type Limit struct {
	Key    string  // the same in all instances
	Total  float64 // of all instances together
	Most   float64 // of one instance
	Whole  bool    // shares are whole numbers
	Demand float64 // what this instance could use, since the last time
}

// Options configure a Member. All fields are required.
type Options struct {
	Log      logrus.FieldLogger
	Leases   clientv1.LeaseInterface
	Identity string // of this instance, part of the name of a Lease
	// Limits returns the limits, with the demand since it was last called.
	Limits func() []Limit
	// Share sets what this instance has of the limits, by their keys; nil means that the others are away, and each limit is Most.
	Share func(shares map[string]float64)
}

// Member is an instance of those that divide limits. Make it with New.
type Member struct {
	opts Options

	demand    demands // smoothed
	published demands // that the others see
	version   string  // of its Lease; "" if that is not known
	written   time.Time
	contact   time.Time             // when the Leases were last read and written
	before    [2]map[string]float64 // shares, the last two times
	seen      map[string]sighting
	alone     bool // and it was logged
}

// sighting is when a Lease was last seen to change, by the clock of this instance.
type sighting struct {
	version string
	at      time.Time
}

// New makes a member, which does nothing before Run.
func New(opts Options) *Member {
	return &Member{opts: opts, demand: demands{}, seen: map[string]sighting{}}
}

// Run takes part until ctx ends, and then leaves at once.
func (m *Member) Run(ctx context.Context) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		m.look(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			m.leave(context.WithoutCancel(ctx))
			return
		}
	}
}

// leave has the others divide without this instance.
func (m *Member) leave(ctx context.Context) {
	if m.contact.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	if err := m.opts.Leases.Delete(ctx, m.opts.name(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		m.opts.Log.WithError(err).Warn("the Lease of this instance cannot be deleted; the others keep its share for a while")
	}
}

// look tells the others the demand of this instance, and divides the limits.
func (m *Member) look(ctx context.Context) {
	limits := m.opts.Limits()
	m.smooth(limits)
	if len(limits) == 0 && m.contact.IsZero() {
		return // there is nothing to divide
	}
	all, err := m.exchange(ctx)
	now := time.Now()
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		m.contact, m.alone = now, false
		shares := m.divide(limits, all)
		m.opts.Share(grown(m.before, shares))
		m.before = [...]map[string]float64{m.before[1], shares}
	case now.Sub(m.contact) >= expiry: // the others no longer count on this instance
		if !m.alone {
			m.opts.Log.WithError(err).Warn("the Leases of the gateway's instances cannot be used; limits of all instances together are those of each one")
		}
		m.alone, m.before = true, [2]map[string]float64{}
		m.opts.Share(nil)
	}
}

// smooth averages the demands with those before.
func (m *Member) smooth(limits []Limit) {
	next := demands{}
	for _, l := range limits {
		before, known := m.demand[l.Key]
		if !known {
			before = l.Demand
		}
		if next[l.Key] = (before + l.Demand) / 2; next[l.Key] < 0.01 {
			next[l.Key] = 0
		}
	}
	m.demand = next
}

// grown holds back what has grown since the two times before: the others have to see it first, and to shrink. They look once in a period,
// and what was written needs some time to get there.
func grown(before [2]map[string]float64, now map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for key, share := range now {
		for _, shares := range before {
			if last, known := shares[key]; known {
				share = min(share, last)
			}
		}
		out[key] = share
	}
	return out
}

// instance is one of those that divide limits.
type instance struct {
	name string // of its Lease
	demands
}

// exchange writes the Lease of this instance if it has to, and returns all instances in the order of their names.
func (m *Member) exchange(ctx context.Context) ([]instance, error) {
	if now := time.Now(); m.version == "" || now.Sub(m.written) >= renew || m.demand.differs(m.published) {
		if err := m.write(ctx, now); err != nil {
			m.version = "" // it may have been written, or somebody else has
			return nil, fmt.Errorf("write a Lease: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	list, err := m.opts.Leases.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + labelValue, Limit: 2 * maxInstances})
	if err != nil {
		return nil, fmt.Errorf("list Leases: %w", err)
	}
	out := []instance{{m.opts.name(), m.published}}
	for i := range list.Items {
		if l := &list.Items[i]; l.Name != m.opts.name() && m.lives(ctx, l) {
			out = append(out, instance{l.Name, decode(l.Annotations[demandOf])})
		}
	}
	if list.Continue != "" || len(out) > maxInstances {
		return nil, fmt.Errorf("there are more than %d instances", maxInstances)
	}
	m.forget(list.Items)
	slices.SortFunc(out, func(a, b instance) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// write creates or updates the Lease of this instance. No other instance writes it.
func (m *Member) write(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, call)
	defer cancel()
	text, kept := m.demand.encode()
	next, version := m.opts.lease(text, now), m.version
	var got *coordinationv1.Lease
	var err error
	if version == "" {
		got, err = m.opts.Leases.Create(ctx, next, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			if got, err = m.opts.Leases.Get(ctx, next.Name, metav1.GetOptions{}); err == nil {
				version = got.ResourceVersion
			}
		}
	}
	if version != "" {
		next.ResourceVersion = version
		got, err = m.opts.Leases.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return err
	}
	m.version, m.published, m.written = got.ResourceVersion, kept, now
	return nil
}

// lives reports whether the instance of a Lease takes part. Those that have been away for long are deleted: others may have other clocks, so
// that a Lease counts as renewed when this instance sees it change.
func (m *Member) lives(ctx context.Context, l *coordinationv1.Lease) bool {
	now := time.Now()
	last, known := m.seen[l.Name]
	if !known || last.version != l.ResourceVersion {
		renewed := l.Spec.RenewTime
		if known || renewed == nil || now.Sub(renewed.Time) < stale {
			m.seen[l.Name] = sighting{l.ResourceVersion, now}
			return true
		}
		m.seen[l.Name] = sighting{l.ResourceVersion, renewed.Time}
		last = m.seen[l.Name]
	}
	if now.Sub(last.at) >= stale && strings.HasPrefix(l.Name, namePrefix) {
		_ = m.opts.Leases.Delete(ctx, l.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &l.ResourceVersion}}) // or somebody else does
	}
	return now.Sub(last.at) < expiry
}

// forget drops what was remembered about Leases that are gone.
func (m *Member) forget(there []coordinationv1.Lease) {
	for name := range m.seen {
		if !slices.ContainsFunc(there, func(l coordinationv1.Lease) bool { return l.Name == name }) {
			delete(m.seen, name)
		}
	}
}

// divide returns the shares of this instance. It counts with what the others know of it.
func (m *Member) divide(limits []Limit, all []instance) map[string]float64 {
	me := slices.IndexFunc(all, func(i instance) bool { return i.name == m.opts.name() })
	out := map[string]float64{}
	of := make([]float64, len(all))
	for _, l := range limits {
		for i := range all {
			of[i] = all[i].demands[l.Key]
		}
		out[l.Key] = Divide(l.Total, l.Most, l.Whole, of)[me]
	}
	return out
}
