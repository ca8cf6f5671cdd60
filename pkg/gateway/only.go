package gateway

import (
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// only is a set of one cluster, which is never deleted: while its file is away, the last version serves.
type only struct {
	cluster *upstream.Cluster
	log     logrus.FieldLogger

	mu     sync.Mutex
	unused map[string]bool // names of objects whose newest version is not in use
}

func newOnly(cluster *upstream.Cluster, log logrus.FieldLogger) *only {
	return &only{cluster: cluster, log: log, unused: map[string]bool{}}
}

var errReference = errors.New("spec.clientConfig.credentials: only netloom gateway obtains credentials; " +
	"expected bearerToken, or certData and keyData, in the file, which is read again when it changes")

var errAnother = errors.New("only one UpstreamCluster can be used, and another one is in use")

// Put uses a version of the cluster.
func (o *only) Put(object *v1alpha1.UpstreamCluster) error {
	err := errAnother
	switch {
	case object.Name != o.cluster.Name():
	case waits(object):
		err = errReference
	default:
		err = o.cluster.Update(object)
	}
	o.note(object.Name, err == nil)
	return err
}

// Reject leaves the version before in force.
func (o *only) Reject(name string, _ error) { o.note(name, false) }

// Delete leaves the last version in force.
func (o *only) Delete(name string) {
	if name != o.cluster.Name() {
		o.note(name, true)
		return
	}
	o.note(name, false)
	o.log.WithField("cluster", name).Warn("the file of the cluster is gone; its last version stays in force")
}

// Conflict is "": host names mean nothing here.
func (*only) Conflict(string) string { return "" }

// Beyond is false: there is one cluster.
func (*only) Beyond(string) bool { return false }

func (o *only) note(name string, used bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if delete(o.unused, name); !used {
		o.unused[name] = true
	}
}

// accepted reports whether the newest version of every object is in use.
func (o *only) accepted() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.unused) == 0
}
