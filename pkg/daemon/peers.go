package daemon

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/manifest"
	"github.com/netloom/netloom/pkg/metrics"
	"github.com/netloom/netloom/pkg/peers"
	"github.com/netloom/netloom/pkg/peers/upstreams"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/pkg/source/confirm"
	"github.com/netloom/netloom/pkg/source/kube"
	"github.com/netloom/netloom/translator/field"
)

// Peers configures which other clusters have pods that policies may select as peers. The zero value is none.
type Peers struct {
	Clusters   []Peer
	Kubeconfig string // of those that have a context
	Upstreams  Upstreams
	Everywhere bool // a selector that names no cluster selects pods of all of them
}

// Upstreams is where UpstreamClusters are read, which are other clusters, too: a directory, or the API of a host cluster. The zero
// value is nowhere.
type Upstreams struct {
	Directory string
	API       bool
	Context   string // of Peers.Kubeconfig; "" is the own cluster
}

// Peer is another cluster: its API or a directory of manifests.
type Peer struct {
	Name      string
	Context   string // of the kubeconfig
	Manifests string // directory; "" reads from the API
}

// clusterSet returns in which clusters policies find peers.
func (p *Peers) clusterSet() field.ClusterSet {
	switch {
	case len(p.Clusters) == 0 && p.Upstreams == Upstreams{}:
		return field.SingleCluster
	case p.Everywhere:
		return field.SetByDefault
	default:
		return field.LocalByDefault
	}
}

// newPeers makes the sources of the other clusters; nil if there are none.
func newPeers(opts *Options, log logrus.FieldLogger) (*peers.Set, error) {
	if opts.Peers.clusterSet() == field.SingleCluster {
		return nil, nil
	}
	var clusters []peers.Cluster
	for _, p := range opts.Peers.Clusters {
		read, err := newPeer(opts, &p, log.WithField("cluster", p.Name))
		if err != nil {
			return nil, fmt.Errorf("cluster %s: %w", p.Name, err)
		}
		clusters = append(clusters, peers.Cluster{Name: p.Name, Source: read})
	}
	set := peers.New(clusters, 0, log)
	if opts.Peers.Upstreams != (Upstreams{}) {
		registry, err := newRegistry(opts, set, log)
		if err != nil {
			return nil, fmt.Errorf("UpstreamClusters: %w", err)
		}
		set.Follow(registry)
	}
	return set, nil
}

// newRegistry makes what has clusters join a set and leave it.
func newRegistry(opts *Options, set *peers.Set, log logrus.FieldLogger) (*upstreams.Registry, error) {
	at := &opts.Peers.Upstreams
	if !at.API {
		return upstreams.FromDirectory(at.Directory, opts.Cluster, set, log), nil
	}
	login := opts.login()
	if at.Context != "" {
		login = kube.Login{Kubeconfig: opts.Peers.Kubeconfig, Context: at.Context}
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

// peerClusters lists what is known of other clusters, for metrics.
func (d *Daemon) peerClusters() []metrics.PeerCluster {
	var out []metrics.PeerCluster
	for _, s := range d.peers.States() {
		out = append(out, metrics.PeerCluster{Name: s.Name, Pods: s.Pods, Read: s.Synced, Lost: s.Lost})
	}
	return out
}

func newPeer(opts *Options, p *Peer, log logrus.FieldLogger) (source.Source, error) {
	read := peers.Reads()
	if p.Manifests != "" {
		return manifest.NewDirectory(p.Manifests, manifest.Options{Options: read, MaxFile: opts.MaxManifest}, log), nil
	}
	config, err := kube.Config(kube.Login{Kubeconfig: opts.Peers.Kubeconfig, Context: p.Context})
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return kube.New(client, kube.Options{Options: read, Server: config.Host, Confirm: confirm.Options{Interval: opts.ConfirmInterval}}, log), nil
}
