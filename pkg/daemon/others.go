package daemon

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/inputs/clusters"
	"github.com/netloom/netloom/pkg/inputs/clusters/upstreams"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/translator/field"
)

// Others configures which other clusters have pods that policies may select as peers. The zero value is none.
type Others struct {
	Clusters   []Other
	Kubeconfig string // of those that have a context
	Upstreams  Upstreams
	Everywhere bool // a selector that names no cluster selects pods of all of them
}

// Upstreams is where UpstreamClusters are read, which are other clusters, too: a directory, or the API of a host cluster. The zero
// value is nowhere.
type Upstreams struct {
	Directory string
	API       bool
	Context   string // of Others.Kubeconfig; "" is the own cluster
}

// Other is another cluster: its API or a directory of manifests.
type Other struct {
	Name      string
	Context   string // of the kubeconfig
	Manifests string // directory; "" reads from the API
}

// clusterSet returns in which clusters policies find peers.
func (p *Others) clusterSet() field.ClusterSet {
	switch {
	case len(p.Clusters) == 0 && p.Upstreams == Upstreams{}:
		return field.SingleCluster
	case p.Everywhere:
		return field.SetByDefault
	default:
		return field.LocalByDefault
	}
}

// newOthers makes the sources of the other clusters; nil if there are none.
func newOthers(opts *Options, log logrus.FieldLogger) (*clusters.Set, error) {
	if opts.Others.clusterSet() == field.SingleCluster {
		return nil, nil
	}
	var others []clusters.Cluster
	for _, p := range opts.Others.Clusters {
		read, err := newOther(opts, &p, log.WithField("cluster", p.Name))
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", p.Name, err)
		}
		others = append(others, clusters.Cluster{Name: p.Name, Source: read})
	}
	set := clusters.New(others, 0, log)
	if opts.Others.Upstreams != (Upstreams{}) {
		registry, err := newRegistry(opts, set, log)
		if err != nil {
			return nil, fmt.Errorf("UpstreamClusters: %w", err)
		}
		set.Follow(registry)
	}
	return set, nil
}

// newRegistry makes what has clusters join a set and leave it.
func newRegistry(opts *Options, set *clusters.Set, log logrus.FieldLogger) (*upstreams.Registry, error) {
	at := &opts.Others.Upstreams
	if !at.API {
		return upstreams.FromDirectory(at.Directory, opts.Cluster, set, log), nil
	}
	login := opts.login()
	if at.Context != "" {
		login = kube.Login{Kubeconfig: opts.Others.Kubeconfig, Context: at.Context}
	}
	config, err := kube.Config(login)
	if err != nil {
		return nil, err
	}
	host, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return upstreams.FromAPI(host, opts.Cluster, set, log)
}

// otherClusters lists what is known of other clusters, for metrics.
func (d *Daemon) otherClusters() []metrics.OtherCluster {
	var out []metrics.OtherCluster
	for _, s := range d.others.States() {
		out = append(out, metrics.OtherCluster{Name: s.Name, Pods: s.Pods, Read: s.Synced, Lost: s.Lost})
	}
	return out
}

func newOther(opts *Options, p *Other, log logrus.FieldLogger) (source.Source, error) {
	read := clusters.Reads()
	if p.Manifests != "" {
		return manifest.NewDirectory(p.Manifests, manifest.Options{Options: read, MaxFile: opts.MaxManifest}, log), nil
	}
	config, err := kube.Config(kube.Login{Kubeconfig: opts.Others.Kubeconfig, Context: p.Context})
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return kube.New(client, kube.Options{
		Options: read, Server: config.Host, Metadata: metadataClient, Confirm: confirm.Options{Interval: opts.ConfirmInterval},
	}, log), nil
}
