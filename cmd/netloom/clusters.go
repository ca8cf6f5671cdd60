package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/offline"
	"github.com/netloom/netloom/translator/field"
)

// clustersFlag adds other clusters to a question.
type clustersFlag struct {
	set       bool // the clusters of a daemon's set count
	cluster   string
	peers     []string
	selectors string
}

// bindClusters adds the flags of a command that answers across clusters.
func (f *clustersFlag) bindClusters(cmd *cobra.Command) {
	f.set = true
	flags := cmd.Flags()
	flags.StringVar(&f.cluster, "cluster", "", "name of the cluster of the manifests, with --peer-manifests")
	flags.StringArrayVar(&f.peers, "peer-manifests", nil, "another cluster, as NAME=DIRECTORY; its policies decide at its pods; may be repeated")
	flags.StringVar(&f.selectors, "peer-selectors", string(config.PeersLocal), "pods that a peer selector without the key "+
		"netloom.io/cluster selects: those of the own cluster (local) or of all clusters (set); a daemon has its own setting")
	complete(cmd, "peer-selectors", string(config.PeersLocal), string(config.PeersSet))
}

// addTo adds the clusters to what is read.
func (f *clustersFlag) addTo(out *offline.Manifests) error {
	if out.Set = f.set; !f.set {
		return nil
	}
	var faults []error
	for _, text := range f.peers {
		name, path, _ := strings.Cut(text, "=")
		if !config.IsClusterName(name) || path == "" {
			faults = append(faults, fmt.Errorf("--peer-manifests: %q: expected NAME=DIRECTORY", text))
		}
		out.Others = append(out.Others, offline.Other{Name: name, Path: path})
	}
	switch config.PeerSelectors(f.selectors) {
	case config.PeersLocal:
		out.Translator.ClusterSet = field.LocalByDefault
	case config.PeersSet:
		out.Translator.ClusterSet = field.SetByDefault
	default:
		faults = append(faults, fmt.Errorf("--peer-selectors: %q: expected local or set", f.selectors))
	}
	if len(f.peers) == 0 {
		out.Translator.ClusterSet = field.SingleCluster
	}
	if f.cluster != "" && !config.IsClusterName(f.cluster) {
		faults = append(faults, fmt.Errorf("--cluster: %q: expected the name of a cluster", f.cluster))
	}
	out.Translator.Cluster = f.cluster
	return errors.Join(faults...)
}
