package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version make up apiVersion.
const (
	Group   = "batch.sdewan.akraino.org"
	Version = "v1alpha1"
)

// Labels of objects.
const (
	// LabelPurpose selects the CNF of an object: the one with the same value. An object without it applies to no CNF.
	LabelPurpose = "sdewanPurpose"
	// LabelBucketType determines the permission required to write an object; upstream uses basic, app-intent and k8s-service.
	// Without it, only the permission of the API is required.
	LabelBucketType = "sdewan-bucket-type"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme registers every kind with s. It never returns an error; clients expect this signature.
func AddToScheme(s *runtime.Scheme) error {
	for _, r := range Resources() {
		s.AddKnownTypes(GroupVersion, r.New(), r.newList())
	}
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
