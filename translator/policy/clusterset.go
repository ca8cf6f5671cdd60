package policy

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/netloom/netloom/labelcache"
	"github.com/netloom/netloom/translator/field"
)

// subjectIn returns a selection of subjects, which are always pods of the own cluster. LabelCluster decides whether any are.
func subjectIn(source field.Source, s labelcache.Selection) labelcache.Selection {
	s, _ = moveCluster(source, s)
	return s
}

// peersIn returns a selection of peers with the clusters that it extends to. Namespaces of one name are the same namespace in
// every cluster of the set (namespace sameness, KEP-1645).
func peersIn(source field.Source, s labelcache.Selection) labelcache.Selection {
	s, names := moveCluster(source, s)
	if source.ClusterSet == field.SingleCluster || !names && source.ClusterSet == field.LocalByDefault {
		return s
	}
	s.Cluster = labelcache.AnyCluster
	if s.Namespace != "" {
		s.Namespaces, s.Namespace = withName(s.Namespaces, s.Namespace), ""
	}
	return s
}

// everyPod returns the selection of all pods that can be peers.
func everyPod(source field.Source) labelcache.Selection {
	return peersIn(source, labelcache.Selection{Cluster: source.Cluster})
}

// moveCluster turns what a selection requires of LabelCluster of pods into what it requires of their namespaces, which have
// that label. It reports whether the selection names LabelCluster at all.
func moveCluster(source field.Source, s labelcache.Selection) (labelcache.Selection, bool) {
	if source.ClusterSet == field.SingleCluster {
		return s, false
	}
	_, ofNamespaces := split(s.Namespaces)
	pods, ofPods := split(s.Pods)
	if len(ofPods) > 0 {
		s.Pods, s.Namespaces = pods, require(s.Namespaces, ofPods...)
	}
	return s, len(ofPods)+len(ofNamespaces) > 0
}

// split separates the requirements of LabelCluster from the others. Nil selects everything.
func split(s labels.Selector) (rest labels.Selector, clusters []labels.Requirement) {
	if s == nil {
		return nil, nil
	}
	all, _ := s.Requirements()
	var others []labels.Requirement
	for _, r := range all {
		if r.Key() == field.LabelCluster {
			clusters = append(clusters, r)
		} else {
			others = append(others, r)
		}
	}
	if len(clusters) == 0 {
		return s, nil
	}
	return labels.NewSelector().Add(others...), clusters
}

// require adds requirements to a selector; nil selects everything.
func require(s labels.Selector, more ...labels.Requirement) labels.Selector {
	if s == nil {
		s = labels.Everything()
	}
	return s.Add(more...)
}

// withName narrows a selector to namespaces of a name. A name that is not a valid label value cannot come from an API, and matches nothing.
func withName(s labels.Selector, name string) labels.Selector {
	r, err := labels.NewRequirement(field.LabelName, selection.Equals, []string{name})
	if err != nil {
		return labels.Nothing()
	}
	return require(s, *r)
}
