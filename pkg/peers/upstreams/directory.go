package upstreams

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/gateway/upstream"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/peers"
	"github.com/netloom/netloom/pkg/source/kube"
)

// Directory is the registry of the clusters in a directory. Make it with New.
type Directory struct {
	dir   string
	own   string
	set   *peers.Set
	log   logrus.FieldLogger
	files *registry.Directory

	clusters map[string]*upstream.Cluster // only used while the directory is read

	mu     sync.Mutex
	faults map[string]string // by cluster: why its newest version is not in use
}

// New makes a registry of the clusters in a directory, except the own one, so that all clusters can have the same directory. It
// reads nothing before Run.
func New(dir, own string, set *peers.Set, log logrus.FieldLogger) *Directory {
	d := &Directory{dir: dir, own: own, set: set, log: log, clusters: map[string]*upstream.Cluster{}, faults: map[string]string{}}
	d.files = registry.NewDirectory(dir, members{d}, log)
	return d
}

// Synced reports whether the directory has been read.
func (d *Directory) Synced() bool { return d.files.Synced() }

// Run has clusters join and leave until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	defer func() {
		for _, c := range d.clusters {
			c.Close()
		}
	}()
	d.files.Load()
	d.set.Ring() // there may be no cluster
	return d.files.Run(ctx)
}

// Problems lists why clusters are not in the set, or not in their newest version.
func (d *Directory) Problems() []object.Problem {
	problem := func(message string) object.Problem {
		return object.Problem{Place: object.Place{Path: d.dir}, Message: message}
	}
	if !d.Synced() {
		return []object.Problem{problem("the directory of other clusters has not been read")}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []object.Problem
	for _, name := range slices.Sorted(maps.Keys(d.faults)) {
		out = append(out, problem("UpstreamCluster "+name+": "+d.faults[name]))
	}
	return out
}

// fault records why the newest version of a cluster is not in use; nil means that it is.
func (d *Directory) fault(name string, err error) {
	d.mu.Lock()
	if err == nil {
		delete(d.faults, name)
	} else {
		d.faults[name] = err.Error()
	}
	d.mu.Unlock()
	d.set.Ring()
}

// members is a Directory as its files change it.
type members struct{ *Directory }

// Put has a cluster join, or changes how it is reached.
func (d members) Put(object *v1alpha1.UpstreamCluster) error {
	if object.Name == d.own {
		return nil
	}
	err := d.put(object)
	d.fault(object.Name, err)
	return err
}

func (d members) put(object *v1alpha1.UpstreamCluster) error {
	if c := d.clusters[object.Name]; c != nil {
		return c.Update(object)
	}
	if len(validation.IsValidLabelValue(object.Name)) > 0 {
		return errors.New("the name has to be a label value, of at most 63 characters")
	}
	log := d.log.WithField("cluster", object.Name)
	c := upstream.New(context.Background(), object.Name, upstream.Options{Log: log})
	err := c.Update(object)
	if err == nil {
		err = d.join(c, log)
	}
	if err != nil {
		c.Close()
		return err
	}
	d.clusters[object.Name] = c
	return nil
}

// join adds a cluster to the set.
func (d members) join(c *upstream.Cluster, log logrus.FieldLogger) error {
	client, err := kubernetes.NewForConfig(kube.Through(c))
	if err != nil {
		return fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return d.set.Join(peers.Cluster{Name: c.Name(), Source: kube.New(client, kube.Options{Options: peers.Reads()}, log)})
}

// Reject records that the newest version of a cluster has faults. The version before stays in use.
func (d members) Reject(name string, err error) { d.fault(name, err) }

// Delete has a cluster leave.
func (d members) Delete(name string) {
	d.fault(name, nil)
	if c := d.clusters[name]; c != nil {
		d.set.Leave(name)
		c.Close()
		delete(d.clusters, name)
	}
}

// Conflict returns nothing: host names are a matter of the gateway.
func (members) Conflict(string) string { return "" }
