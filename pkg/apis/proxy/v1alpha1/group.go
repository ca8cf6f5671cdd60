package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version make up apiVersion.
const (
	Group   = "proxy.kubegateway.io"
	Version = "v1alpha1"
)

// The kind of UpstreamCluster, and its name in URLs of the API.
const (
	KindUpstreamCluster   = "UpstreamCluster"
	PluralUpstreamCluster = "upstreamclusters"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers every kind with s. It never returns an error; clients expect this signature.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &UpstreamCluster{}, &UpstreamClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
