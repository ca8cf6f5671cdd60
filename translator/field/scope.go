package field

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/intent"
)

// Source is what the objects of a cluster do not specify themselves.
type Source struct {
	Cluster     string // its name; "" if there is only one
	ClusterSet  ClusterSet
	ClusterWide bool // an SD-WAN object is for the CNFs of its purpose in every namespace
}

// Origin names an object as the cause of intents.
func (s Source) Origin(kind string, o metav1.Object) intent.Origin {
	return intent.Origin{
		Cluster: s.Cluster, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()),
	}
}

// Created returns when an object was created, in seconds since 1970; zero if that is unknown.
func Created(o metav1.Object) int64 {
	if at := o.GetCreationTimestamp(); !at.IsZero() {
		return at.Unix()
	}
	return 0
}

// Scope returns the scope of an object with the given purpose.
func (s Source) Scope(namespace, purpose string) intent.Scope {
	if s.ClusterWide {
		namespace = ""
	}
	return intent.Scope{Namespace: namespace, Purpose: purpose}
}

// LabelledScope returns the scope that an object's label names. It returns false if there is no label, or an invalid one.
func (s Source) LabelledScope(o metav1.Object, faults *Faults) (intent.Scope, bool) {
	purpose := o.GetLabels()[v1alpha1.LabelPurpose]
	if purpose == "" {
		return intent.Scope{}, false
	}
	if len(validation.IsValidLabelValue(purpose)) > 0 {
		faults.Add("metadata.labels["+v1alpha1.LabelPurpose+"]", "%q: expected a valid label value; the object applies to no CNF", purpose)
		return intent.Scope{}, false
	}
	return s.Scope(o.GetNamespace(), purpose), true
}
