package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group and Version are what apiVersion is made of.
const (
	Group   = "netloom.io"
	Version = "v1alpha1"
)

// The kind of PolicyStatus, and its name in addresses of the API.
const (
	KindPolicyStatus   = "PolicyStatus"
	PluralPolicyStatus = "policystatuses"
)

// GroupVersion is the group and version of every kind here.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes s know every kind. It returns no error; the signature is the one that clients want.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &PolicyStatus{}, &PolicyStatusList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
