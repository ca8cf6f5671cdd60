package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version are what apiVersion is made of.
const (
	Group   = "batch.sdewan.akraino.org"
	Version = "v1alpha1"
)

// Labels of objects.
const (
	// LabelPurpose says for which CNF an object is: the one that carries the same value. An object without it is for none.
	LabelPurpose = "sdewanPurpose"
	// LabelBucketType says which permission is needed to write an object; upstream uses basic, app-intent and k8s-service.
	// Without it no permission beyond that of the API is needed.
	LabelBucketType = "sdewan-bucket-type"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes s know every kind. It returns no error; the signature is the one that clients want.
func AddToScheme(s *runtime.Scheme) error {
	for _, r := range Resources() {
		s.AddKnownTypes(GroupVersion, r.New(), r.newList())
	}
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
