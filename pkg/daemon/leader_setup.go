package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"k8s.io/client-go/kubernetes"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
)

// What a pod knows of itself.
const (
	podNameEnv      = "POD_NAME"
	podNamespaceEnv = "POD_NAMESPACE"
	namespaceFile   = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
)

// elect makes the election, where the options ask for one.
func (d *Daemon) elect() error {
	opts := d.opts.Leader.withDefaults(d.opts.Target.Owner)
	if !opts.Enabled {
		return nil
	}
	if opts.Leases == nil {
		if d.clients == nil {
			return errors.New("leader election: the Lease is held by a Kubernetes API, and none is read here")
		}
		leases, err := leaseClient(d.clients.config, &opts)
		if err != nil {
			return err
		}
		opts.Leases = leases
	}
	var err error
	if opts.Namespace == "" {
		if opts.Namespace, err = podNamespace(); err != nil {
			return err
		}
	}
	if opts.Identity == "" {
		if opts.Identity, err = newIdentity(); err != nil {
			return err
		}
	}
	d.election = newElection(opts, d.term, d.metrics, d.log)
	d.observe = append(d.observe, deposition{daemon: d})
	if d.sdwan != nil {
		d.sdwan.rest()
	}
	return nil
}

// leaseClient makes a client that nothing else uses, so that nothing else uses up what it may ask, and one request to a
// server that does not answer leaves time for another.
func leaseClient(config *rest.Config, opts *Leader) (coordinationv1.LeasesGetter, error) {
	config = rest.CopyConfig(config)
	config.Timeout = opts.RenewDeadline / 2
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return client.CoordinationV1(), nil
}

// podNamespace is the namespace that this process runs in.
func podNamespace() (string, error) {
	if name := os.Getenv(podNamespaceEnv); name != "" {
		return name, nil
	}
	raw, err := os.ReadFile(namespaceFile)
	if err != nil {
		return "", fmt.Errorf("leader election: expected the namespace of the Lease, as neither %s nor a service account tells it: %w", podNamespaceEnv, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// newIdentity makes a name for this process that no other has, and that people know it by.
func newIdentity() (string, error) {
	name := os.Getenv(podNameEnv)
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("leader election: %w", err)
		}
		name = host
	}
	return name + "_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:8], nil
}
