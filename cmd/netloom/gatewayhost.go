package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/election"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/registry"
	"github.com/netloom/netloom/pkg/inputs/kube"
)

// hostAPI is the API of the cluster that has the UpstreamClusters.
type hostAPI struct {
	config    *rest.Config
	objects   dynamic.Interface
	client    kubernetes.Interface
	namespace string // "" if it is not known
}

// What the host cluster is asked at most: the status of each of 4,096 clusters within four minutes.
const (
	hostQPS   = 20
	hostBurst = 40
)

// statusLease is the name of the Lease whose holder writes the conditions that instances of the gateway may see differently.
const statusLease = "netloom-gateway-status"

// hostCluster connects to the host cluster; nil if the UpstreamClusters come from elsewhere.
func hostCluster(cfg *config.Config, own *takenOver) (*hostAPI, error) {
	if own != nil || cfg.Gateway.Clusters != "" {
		return nil, nil
	}
	at, err := kube.Config(kube.Login{Kubeconfig: cfg.Kubeconfig, Context: cfg.KubeContext})
	if err != nil {
		return nil, err
	}
	at.QPS, at.Burst = hostQPS, hostBurst
	host := &hostAPI{config: at, namespace: cfg.Gateway.Namespace}
	if host.namespace == "" {
		host.namespace = podNamespace()
	}
	if host.objects, err = dynamic.NewForConfig(at); err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	if host.client, err = kubernetes.NewForConfig(at); err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	return host, nil
}

// podNamespace returns the namespace that this process runs in; "" if it is in no pod.
func podNamespace() string {
	if name := os.Getenv("POD_NAMESPACE"); name != "" {
		return name
	}
	raw, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// secrets are those that UpstreamClusters may refer to; nil if there are none.
func (h *hostAPI) secrets() corev1.SecretInterface {
	if h == nil || h.namespace == "" {
		return nil
	}
	return h.client.CoreV1().Secrets(h.namespace)
}

// divide divides limits with the other instances until ctx ends. Without a host cluster, each has its own.
func (h *hostAPI) divide(ctx context.Context, g *gateway.Gateway) error {
	if h == nil || h.namespace == "" {
		return nil
	}
	host, err := os.Hostname() // that of a pod is its name
	if err != nil {
		return err
	}
	g.DivideLimits(ctx, h.client.CoordinationV1().Leases(h.namespace), strings.ToLower(host))
	return nil
}

// report writes the status of clusters while this instance holds a Lease, until ctx ends. It does nothing if the namespace of the Lease is
// not known.
func (h *hostAPI) report(ctx context.Context, g *gateway.Gateway, from *registry.API, log logrus.FieldLogger) error {
	if h.namespace == "" {
		return nil
	}
	opts, err := election.Options{Enabled: true, Namespace: h.namespace, Name: statusLease}.Complete("netloom-gateway", h.config)
	if err != nil {
		return err
	}
	term := func(ctx context.Context, _ bool) error {
		from.ReportStanding(ctx, g.Clusters().Conditions)
		return nil
	}
	return election.New(opts, term, g.Reporting(), log).Run(ctx)
}

// obtain returns a cluster with the credentials of the user that it refers to in a kubeconfig; "" has no users.
func obtain(ctx context.Context, c *v1alpha1.UpstreamCluster, users string) (*v1alpha1.UpstreamCluster, error) {
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	opts := credential.Options{Log: silent}
	if users != "" {
		opts.Users = credential.NewUsers(users)
	}
	return credential.Obtain(ctx, c, opts)
}
