package upstreams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// maxClusters is how many clusters can join a set, the oldest first. Each costs two watches, and memory for its pods.
const maxClusters = 255

// Registry makes clusters join a set of clusters and leave it. Create it with FromDirectory or FromAPI.
type Registry struct {
	place string // where the objects are, for problems
	own   string
	set   *clusters.Set
	log   logrus.FieldLogger
	from  reader

	most     int                                  // how many clusters can join; this and the next ones are only used by Run
	clusters map[string]*upstream.Cluster         // that have joined
	objects  map[string]*v1alpha1.UpstreamCluster // of these, and of those for which there is no room

	mu     sync.Mutex
	faults map[string]string // by cluster: why its newest version is not in use
}

// reader reads UpstreamClusters.
type reader interface {
	Run(ctx context.Context) error
	State() registry.State
}

// FromDirectory makes a registry of the clusters that the files of a directory describe, except the own cluster, so that all clusters can
// have the same directory. It reads nothing before Run.
func FromDirectory(dir, own string, set *clusters.Set, log logrus.FieldLogger) *Registry {
	r := newRegistry("the directory "+dir, own, set, log)
	r.from = registry.NewDirectory(dir, members{r}, set.Ring, log)
	return r
}

// FromAPI makes a registry of the clusters that the objects of a host cluster describe, except the own cluster, so that all clusters can
// have the same host cluster. It reads nothing before Run, and writes nothing: the status belongs to the gateway.
func FromAPI(host dynamic.Interface, own string, set *clusters.Set, log logrus.FieldLogger) (*Registry, error) {
	r := newRegistry("the API of the host cluster", own, set, log)
	from, err := registry.NewAPI(host, members{r}, registry.APIOptions{ReadOnly: true, Changed: set.Ring}, log)
	r.from = from
	return r, err
}

func newRegistry(place, own string, set *clusters.Set, log logrus.FieldLogger) *Registry {
	return &Registry{
		place: place, own: own, set: set, log: log, most: maxClusters, clusters: map[string]*upstream.Cluster{},
		objects: map[string]*v1alpha1.UpstreamCluster{}, faults: map[string]string{},
	}
}

// Synced reports whether the objects have been read that existed at the start.
func (r *Registry) Synced() bool { return r.from.State().Synced }

// Proofs implements source.Prover.
func (r *Registry) Proofs() []source.Proof { return []source.Proof{r.from.State().Proof} }

// Lost returns since when the objects cannot be read; zero if they can.
func (r *Registry) Lost() time.Time { return r.from.State().Lost }

// Run has clusters join and leave until ctx ends.
func (r *Registry) Run(ctx context.Context) error {
	defer func() {
		for _, c := range r.clusters {
			c.Close()
		}
	}()
	return r.from.Run(ctx)
}

// Problems lists why clusters are not in the set, or not in their newest version.
func (r *Registry) Problems() []object.Problem {
	state := r.from.State()
	var out []object.Problem
	problem := func(message string) {
		out = append(out, object.Problem{Place: object.Place{Path: "UpstreamClusters in " + r.place}, Message: message})
	}
	effect := "; no cluster joins or leaves in the meantime"
	if !state.Synced {
		effect = "; the list of other clusters is not known"
		if len(state.Faults) == 0 {
			problem("not read yet" + effect)
		}
	}
	for _, fault := range state.Faults {
		problem(fault + effect)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		problem("UpstreamCluster " + name + ": " + r.faults[name])
	}
	return out
}

// fault records why the newest version of a cluster is not in use; nil means that it is.
func (r *Registry) fault(name string, err error) {
	r.mu.Lock()
	if err == nil {
		delete(r.faults, name)
	} else {
		r.faults[name] = err.Error()
	}
	r.mu.Unlock()
	r.set.Ring()
}

// members is a Registry as a reader changes it.
type members struct{ *Registry }

// Put has a cluster join, or changes how it is reached.
func (m members) Put(object *v1alpha1.UpstreamCluster) error {
	if object.Name == m.own {
		return nil
	}
	m.objects[object.Name] = object
	err := m.put(object)
	m.fault(object.Name, err)
	return err
}

// errNoRoom says that all clusters that can join have joined, and are older.
func (m members) errNoRoom() error {
	return fmt.Errorf("there are already %d other clusters that are older, which is the limit", m.most)
}

// newest is the cluster of those that have joined that was created last.
func (m members) newest() string {
	return slices.MaxFunc(slices.Collect(maps.Keys(m.clusters)), func(a, b string) int { return compareAge(m.objects[a], m.objects[b]) })
}

// compareAge orders by creation time and name, oldest first. Files have no creation time.
func compareAge(a, b *v1alpha1.UpstreamCluster) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
}

// fill has the oldest clusters join for which there was no room.
func (m members) fill() {
	var waiting []*v1alpha1.UpstreamCluster
	for name, o := range m.objects {
		if m.clusters[name] == nil {
			waiting = append(waiting, o)
		}
	}
	slices.SortFunc(waiting, compareAge)
	for _, o := range waiting {
		if len(m.clusters) >= m.most {
			return
		}
		m.fault(o.Name, m.put(o))
	}
}

func (m members) put(object *v1alpha1.UpstreamCluster) error {
	if c := m.clusters[object.Name]; c != nil {
		return c.Update(object)
	}
	if len(validation.IsValidLabelValue(object.Name)) > 0 {
		return errors.New("the name has to be a label value, of at most 63 characters")
	}
	full := len(m.clusters) >= m.most
	if full && compareAge(object, m.objects[m.newest()]) > 0 {
		return m.errNoRoom()
	}
	log := m.log.WithField("cluster", object.Name)
	c := upstream.New(context.Background(), object.Name, upstream.Options{Log: log})
	err := c.Update(object)
	if err == nil && full {
		last := m.newest()
		m.leave(last)
		m.fault(last, m.errNoRoom())
	}
	if err == nil {
		err = m.join(c, log)
	}
	if err != nil {
		c.Close()
		return err
	}
	m.clusters[object.Name] = c
	return nil
}

// leave removes a cluster from the set.
func (m members) leave(name string) {
	m.set.Leave(name)
	m.clusters[name].Close()
	delete(m.clusters, name)
}

// join adds a cluster to the set.
func (m members) join(c *upstream.Cluster, log logrus.FieldLogger) error {
	config := kube.Through(c)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return m.set.Join(clusters.Cluster{Name: c.Name(), Source: kube.New(client, kube.Options{Options: clusters.Reads(), Metadata: metadataClient}, log)})
}

// Reject records that the newest version of a cluster has faults. The version before stays in use.
func (m members) Reject(name string, err error) { m.fault(name, err) }

// Delete has a cluster leave.
func (m members) Delete(name string) {
	m.fault(name, nil)
	delete(m.objects, name)
	if m.clusters[name] != nil {
		m.leave(name)
		m.fill()
	}
}

// Conflict returns nothing: host names are a matter of the gateway.
func (members) Conflict(string) string { return "" }

// Beyond is false: budgets bound what another cluster may cost.
func (members) Beyond(string) bool { return false }
