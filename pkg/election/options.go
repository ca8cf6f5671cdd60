package election

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// Defaults of Options. They are those of the components of Kubernetes.
const (
	DefaultLeaseDuration = 15 * time.Second
	DefaultRenewDeadline = 10 * time.Second
	DefaultRetryPeriod   = 2 * time.Second
)

// Options configures how one of several instances is chosen to write. The others are standbys: they read everything and
// write nothing. The zero value elects no instance, and the instance writes.
type Options struct {
	Enabled bool

	Namespace string // of the Lease; "" is that of the pod
	Name      string // of the Lease; "" means the default of the owner, such as netloom-leader
	Identity  string // of this instance in the Lease; "" is made of the pod's name

	LeaseDuration time.Duration // after which a standby takes a Lease that is not renewed; 0 means the default
	RenewDeadline time.Duration // after which a leader that cannot renew it stops; 0 means the default
	RetryPeriod   time.Duration // between two attempts to acquire or renew it; 0 means the default

	// Leases is the API that has the Lease. Complete makes a client if there is none.
	Leases coordinationv1.LeasesGetter
}

// What a pod knows about itself.
const (
	podNameEnv      = "POD_NAME"
	podNamespaceEnv = "POD_NAMESPACE"
	namespaceFile   = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// Complete fills in what is not set, for the instances of an owner. The Lease is in the API of config unless Leases is set; nil means that
// there is no API.
func (o Options) Complete(owner string, config *rest.Config) (Options, error) {
	o.Name = cmp.Or(o.Name, owner+"-leader")
	o.LeaseDuration = cmp.Or(o.LeaseDuration, DefaultLeaseDuration)
	o.RenewDeadline = cmp.Or(o.RenewDeadline, DefaultRenewDeadline)
	o.RetryPeriod = cmp.Or(o.RetryPeriod, DefaultRetryPeriod)
	var err error
	if o.Leases == nil {
		if o.Leases, err = leaseClient(config, o.RenewDeadline/2); err != nil {
			return o, fmt.Errorf("leader election: %w", err)
		}
	}
	if o.Namespace == "" {
		if o.Namespace, err = podNamespace(); err != nil {
			return o, fmt.Errorf("leader election: %w", err)
		}
	}
	if o.Identity == "" {
		if o.Identity, err = newIdentity(); err != nil {
			return o, fmt.Errorf("leader election: %w", err)
		}
	}
	return o, nil
}

// leaseClient makes a client for the Lease alone: no other requests count against its rate, and after one that times out there is time for
// another.
func leaseClient(config *rest.Config, timeout time.Duration) (coordinationv1.LeasesGetter, error) {
	if config == nil {
		return nil, errors.New("the Lease requires a Kubernetes API")
	}
	config = rest.CopyConfig(config)
	config.Timeout = timeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return client.CoordinationV1(), nil
}

// podNamespace returns the namespace that this process runs in.
func podNamespace() (string, error) {
	if name := os.Getenv(podNamespaceEnv); name != "" {
		return name, nil
	}
	raw, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("expected the namespace of the Lease, because neither %s nor a service account provides it: %w", podNamespaceEnv, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// newIdentity makes a unique, recognizable name for this process.
func newIdentity() (string, error) {
	name := os.Getenv(podNameEnv)
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", err
		}
		name = host
	}
	return name + "_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:8], nil
}
