package config

import (
	"errors"
	"regexp"
	"strings"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Others has the settings of other clusters, whose pods policies may select as peers.
type Others struct {
	Clusters   []Other // that have an API
	Kubeconfig string  // with their contexts; "" is that of the own cluster
	Manifests  []Other // that are directories
	Upstreams  Upstreams
	Selectors  PeerSelectors
}

// Upstreams is where UpstreamClusters are read: a directory, or the API of a host cluster. The zero value is nowhere.
type Upstreams struct {
	Directory string
	API       bool
	Context   string // of the kubeconfig with the contexts of other clusters; "" is the own cluster
}

// Other is a cluster and where it is read: a context of a kubeconfig file, or a directory.
type Other struct{ Name, Place string }

// PeerSelectors is what a selector of peers without the key netloom.io/cluster means.
type PeerSelectors string

// The meanings of such a selector: pods of the own cluster, or of all clusters.
const (
	PeersLocal PeerSelectors = "local"
	PeersSet   PeerSelectors = "set"
)

// clusterName is the pattern of the names of clusters, which are values of labels.
const clusterName = `[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?`

// IsClusterName reports whether a cluster may have a name.
func IsClusterName(name string) bool {
	return regexp.MustCompile(`^` + clusterName + `$`).MatchString(name)
}

func (c *Config) peerSettings() []setting.Setting {
	return []setting.Setting{
		peerList("peer-clusters", "other clusters whose pods policies may select as peers, as NAME or NAME=CONTEXT of peer-kubeconfig; "+
			"the label key netloom.io/cluster narrows a selector to clusters",
			"NAME or NAME=CONTEXT, separated by commas", regexp.MustCompile(`^`+clusterName+`(=.+)?$`), &c.Others.Clusters),
		setting.Text("peer-kubeconfig", "", "kubeconfig file with the contexts of peer-clusters; default: that of kubeconfig",
			&c.Others.Kubeconfig),
		peerList("peer-manifests", "other clusters that are directories of manifests, as NAME=DIRECTORY",
			"NAME=DIRECTORY, separated by commas", regexp.MustCompile(`^`+clusterName+`=.+$`), &c.Others.Manifests),
		upstreamsAt("upstreams", "source of UpstreamClusters, which make other clusters join and leave without a restart: a directory, crd for the own cluster's "+
			"API, or crd=CONTEXT for the API of a context of peer-kubeconfig", &c.Others.Upstreams),
		setting.Choice("peer-selectors", string(PeersLocal), "pods that a peer selector without the key netloom.io/cluster selects: "+
			"those of the own cluster (local) or of all clusters (set)",
			[]PeerSelectors{PeersLocal, PeersSet}, &c.Others.Selectors),
	}
}

// upstreamsAt accepts where UpstreamClusters are. A directory with the name crd is ./crd.
func upstreamsAt(key, usage string, value *Upstreams) setting.Setting {
	var text string
	valid := func(v string) error {
		if v == "crd=" {
			return errors.New("names no context")
		}
		return nil
	}
	s := setting.Parsed(key, "", usage, "DIRECTORY, crd or crd=CONTEXT", valid, &text)
	set := s.Set
	s.Set = func(v string) bool {
		ok := set(v)
		*value = Upstreams{Directory: text}
		if context, found := strings.CutPrefix(text, "crd="); found || text == "crd" {
			*value = Upstreams{API: true}
			if found {
				value.Context = context
			}
		}
		return ok
	}
	return s
}

// peerList accepts a list of clusters with their places.
func peerList(key, usage, expect string, pattern *regexp.Regexp, value *[]Other) setting.Setting {
	var texts []string
	s := setting.List(key, "", usage, expect, pattern.MatchString, &texts)
	set := s.Set
	s.Set = func(v string) bool {
		ok := set(v)
		*value = nil
		for _, text := range texts {
			name, place, found := strings.Cut(text, "=")
			if !found {
				place = name
			}
			*value = append(*value, Other{name, place})
		}
		return ok
	}
	return s
}

func (c *Config) peerContradictions(bad map[string]bool, fault func(key, reason string)) {
	c.upstreamContradictions(fault)
	seen := map[string]bool{c.Cluster: !bad["cluster"]}
	for _, list := range []struct {
		key   string
		peers []Other
	}{{"peer-clusters", c.Others.Clusters}, {"peer-manifests", c.Others.Manifests}} {
		if len(list.peers) > 0 && c.Cluster == "" {
			fault(list.key, "needs cluster, the name of the own cluster")
		}
		for _, p := range list.peers {
			if seen[p.Name] {
				fault(list.key, "names cluster "+p.Name+" twice, or the own cluster")
			}
			seen[p.Name] = true
		}
	}
	if len(c.Others.Clusters) > 0 && c.Others.Kubeconfig == "" && c.Kubeconfig == "" {
		fault("peer-clusters", "needs peer-kubeconfig")
	}
}

func (c *Config) upstreamContradictions(fault func(key, reason string)) {
	u := &c.Others.Upstreams
	if *u != (Upstreams{}) && c.Cluster == "" {
		fault("upstreams", "needs cluster, the name of the own cluster")
	}
	switch {
	case u.API && u.Context == "" && c.Manifests != "":
		fault("upstreams", "is crd, but the own cluster is a directory of manifests: crd=CONTEXT selects an API")
	case u.Context != "" && c.Others.Kubeconfig == "" && c.Kubeconfig == "":
		fault("upstreams", "needs peer-kubeconfig")
	}
}
