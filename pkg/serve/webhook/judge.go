package webhook

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/serve/webhook/advice"
	"github.com/netloom/netloom/pkg/serve/webhook/bucket"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
)

// answer is the result of a review.
type answer struct {
	denial   string // why it is refused; "" allows it
	why      string // for the audit log; "" adds nothing
	warnings []string
	patch    []byte // a JSON patch of the object; nil changes nothing
}

// judge decides. An error means that the request cannot be understood; it is refused.
type judge func(*admissionv1.AdmissionRequest) (answer, error)

// judgeBucket decides whether the user may write to the bucket of the object, before the change and after it.
func (s *Server) judgeBucket(r *admissionv1.AdmissionRequest) (answer, error) {
	if r.Resource.Group != v1alpha1.Group {
		return answer{}, errors.New("The group is not " + v1alpha1.Group) //nolint:staticcheck // upstream's words
	}
	if !slices.ContainsFunc(v1alpha1.Resources(), func(x v1alpha1.Resource) bool { return x.Plural == r.Resource.Resource }) {
		return answer{}, errors.New("Kind is not supported: " + r.Resource.Resource)
	}
	before, after, err := metadataOf(r)
	if err != nil {
		return answer{}, err
	}
	request := &bucket.Request{
		User: r.UserInfo.Username, Groups: r.UserInfo.Groups, Resource: r.Resource.Resource, Namespace: r.Namespace,
	}
	for _, m := range []*metav1.PartialObjectMetadata{before, after} {
		if m != nil {
			request.Labels = append(request.Labels, m.Labels)
		}
	}
	d := s.grants.Decide(request)
	if d.Allowed {
		return answer{why: d.Why}, nil
	}
	return answer{denial: bucket.Denial(r.UserInfo.Username), why: d.Why, warnings: []string{d.Why}}, nil
}

// judgeLabel decides whether the label that selects an object's CNF stays the same.
func (s *Server) judgeLabel(r *admissionv1.AdmissionRequest) (answer, error) {
	before, after, err := metadataOf(r)
	if err != nil || before == nil || after == nil {
		return answer{}, err
	}
	return s.answerTo(consistency.CheckPurpose(consistency.Change{Kind: r.Kind.Kind, Old: before, New: after})), nil
}

// judgeWorkload decides that, and whether there is only one workload for a CNF.
func (s *Server) judgeWorkload(r *admissionv1.AdmissionRequest) (answer, error) {
	before, after, err := metadataOf(r)
	if err != nil || after == nil {
		return answer{}, err
	}
	c := consistency.Change{Kind: r.Kind.Kind, New: after}
	if before != nil {
		c.Old = before
	}
	return s.answerTo(s.index.CheckWorkload(c)), nil
}

// judgeObject decides whether the references of an SD-WAN object exist, and whether a deleted object is no longer needed.
func (s *Server) judgeObject(r *admissionv1.AdmissionRequest) (answer, error) {
	if slices.Contains(s.opts.Bucket.ExemptUsers, r.UserInfo.Username) {
		return answer{why: "user " + r.UserInfo.Username + " is exempt"}, nil
	}
	c := consistency.Change{Kind: r.Kind.Kind}
	var err error
	if c.Old, err = s.object(r, r.OldObject.Raw); err != nil {
		return answer{}, err
	}
	if c.New, err = s.object(r, r.Object.Raw); err != nil {
		return answer{}, err
	}
	if c.Old == nil && c.New == nil {
		return answer{}, errNoObject
	}
	for _, f := range s.feeds {
		if f.SDWAN {
			s.index.SetUnknown(f.Kind, !f.known.Load())
		}
	}
	found := slices.DeleteFunc(s.index.Check(c), func(f consistency.Finding) bool { return f.Check == consistency.Purpose })
	return s.answerTo(found), nil // the label has a webhook of its own
}

// judgePolicy warns the author of a NetworkPolicy or a cluster-wide policy about likely mistakes. It refuses nothing.
func (s *Server) judgePolicy(r *admissionv1.AdmissionRequest) (answer, error) {
	if len(r.Object.Raw) == 0 || s.adviser == nil {
		return answer{}, nil
	}
	if policy := advice.NewClusterPolicy(r.Kind.Kind); policy != nil {
		return s.judgeClusterPolicy(r, policy)
	}
	var before, after networkingv1.NetworkPolicy
	if err := json.Unmarshal(r.Object.Raw, &after); err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	if len(r.OldObject.Raw) > 0 {
		if err := json.Unmarshal(r.OldObject.Raw, &before); err != nil {
			return answer{}, fmt.Errorf("oldObject: %w", err)
		}
		if reflect.DeepEqual(before.Spec, after.Spec) {
			return answer{}, nil
		}
	}
	after.Namespace = r.Namespace
	return answer{warnings: s.adviser.Advise(&after)}, nil
}

// judgeClusterPolicy is judgePolicy for cluster-wide policies; after is an empty one of the kind.
func (s *Server) judgeClusterPolicy(r *admissionv1.AdmissionRequest, after metav1.Object) (answer, error) {
	var was, is struct {
		Spec any `json:"spec"`
	}
	if err := errors.Join(json.Unmarshal(r.Object.Raw, &is), json.Unmarshal(r.Object.Raw, after)); err != nil {
		return answer{}, fmt.Errorf("object: %w", err)
	}
	if len(r.OldObject.Raw) > 0 {
		if err := json.Unmarshal(r.OldObject.Raw, &was); err != nil {
			return answer{}, fmt.Errorf("oldObject: %w", err)
		}
		if reflect.DeepEqual(was, is) {
			return answer{}, nil
		}
	}
	return answer{warnings: s.adviser.AdviseCluster(r.Kind.Kind, after)}, nil
}

// judgeRole warns the author of a role if its annotation cannot be read. It refuses nothing.
func (s *Server) judgeRole(r *admissionv1.AdmissionRequest) (answer, error) {
	_, after, err := metadataOf(r)
	if err != nil || after == nil {
		return answer{}, err
	}
	var a answer
	if fault := bucket.Check(after.Annotations); fault != nil {
		a.warnings = []string{fault.Error()}
	}
	return a, nil
}

// answerTo turns findings into an answer according to the modes. What was as bad before is never refused.
func (s *Server) answerTo(found []consistency.Finding) answer {
	var a answer
	var denials []string
	for _, f := range found {
		switch mode := s.opts.Checks[f.Check]; {
		case mode == Deny && !f.Old:
			denials = append(denials, f.Text)
		case mode != Off:
			a.warnings = append(a.warnings, f.Text)
		}
	}
	a.denial = strings.Join(denials, "; ")
	return a
}

// errNoObject is the error for a request that has neither an object nor an old one.
var errNoObject = errors.New("there is no object in the request")

// metadataOf reads the metadata of the objects of a request. One that the operation does not have is nil.
func metadataOf(r *admissionv1.AdmissionRequest) (before, after *metav1.PartialObjectMetadata, err error) {
	read := func(field string, raw []byte, wanted bool) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{}
		switch fault := json.Unmarshal(raw, m); {
		case !wanted:
			return nil
		case len(raw) == 0:
			err = errors.Join(err, fmt.Errorf("%s: %w", field, errNoObject))
		case fault != nil:
			err = errors.Join(err, fmt.Errorf("%s: %w", field, fault))
		}
		return m
	}
	op := r.Operation
	if op != admissionv1.Create && op != admissionv1.Update && op != admissionv1.Delete {
		return nil, nil, fmt.Errorf("We don't support operation type: %s", op) //nolint:staticcheck // upstream's words
	}
	before = read("oldObject", r.OldObject.Raw, op != admissionv1.Create)
	after = read("object", r.Object.Raw, op != admissionv1.Delete)
	return before, after, err
}

// object reads an SD-WAN object; nil if raw is empty.
func (s *Server) object(r *admissionv1.AdmissionRequest, raw []byte) (metav1.Object, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // there is none, and nothing is wrong
	}
	t, err := s.scheme.New(schema.GroupVersionKind(r.Kind))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", r.Kind.Kind, r.Namespace, r.Name, err)
	}
	o, _ := t.(metav1.Object) // every kind is
	return o, nil
}
