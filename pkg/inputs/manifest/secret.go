package manifest

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// kindSecret is read from directories and never delivered: Secret returns it by name.
const kindSecret = "Secret"

func secretKind() kind {
	return kind{
		Resource: source.Resource{
			Kind: kindSecret, Version: corev1.SchemeGroupVersion, Plural: "secrets", Namespaced: true,
			New: func() source.Object { return &corev1.Secret{} }, Trim: typed(trimSecret),
		},
		complete: typed(completeSecret), validate: judged(validateSecret),
	}
}

// completeSecret writes stringData over data, as the API server does.
func completeSecret(s *corev1.Secret) {
	for k, v := range s.StringData {
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

func validateSecret(s *corev1.Secret) field.ErrorList {
	faults := validateMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	for k := range s.Data {
		for _, msg := range validation.IsConfigMapKey(k) {
			faults = append(faults, field.Invalid(field.NewPath("data").Key(k), field.OmitValueType{}, msg))
		}
	}
	return faults
}

// trimSecret keeps the name and the data.
func trimSecret(s *corev1.Secret) {
	*s = corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}, Data: s.Data}
}

// secretFields lists the fields of SD-WAN resources that hold secrets, or a reference that may hold one by mistake.
func secretFields() []string {
	return []string{"pre_shared_key", "pre_shared_key_secret", "local_private_cert", "local_private_cert_secret"}
}

// isSecretField reports whether the value at a path of an object must not be shown.
func isSecretField(kind string, path string) bool {
	for step := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' }) {
		if kind == kindSecret && (step == "data" || step == "stringData") {
			return true
		}
		if !source.IsSDWAN(kind) {
			continue
		}
		for _, name := range secretFields() {
			if step == name {
				return true
			}
		}
	}
	return false
}

// redact removes what must not be shown from a decoding fault.
func redact(kind string, m mismatch) mismatch {
	if isSecretField(kind, m.field) {
		m.message, _, _ = strings.Cut(m.message, found)
	}
	return m
}

// redactError removes what must not be shown from a validation fault.
func redactError(kind string, err *field.Error) mismatch {
	if isSecretField(kind, err.Field) {
		err.BadValue = field.OmitValueType{}
	}
	return mismatch{err.Field, err.ErrorBody()}
}

// hidden replaces a secret in what is exported.
const hidden = "HIDDEN"

// withoutSecrets changes a copy of an object so that it can be shown.
func withoutSecrets(o source.Object) {
	var peer *v1alpha1.IpsecPeer
	switch o := o.(type) {
	case *v1alpha1.IpsecSite:
		peer = &o.Spec.IpsecPeer
	case *v1alpha1.IpsecHost:
		peer = &o.Spec.IpsecPeer
	default:
		return
	}
	if peer.PreSharedKey != "" {
		peer.PreSharedKey = hidden
	}
	if peer.LocalPrivateCert != "" {
		peer.LocalPrivateCert = hidden
	}
}

// withoutHidden returns the objects in force that are delivered: all but Secrets.
func withoutHidden(force map[object.Ref]settled) map[object.Ref]settled {
	given := force
	for ref := range force {
		if ref.Kind != kindSecret {
			continue
		}
		if len(given) == len(force) {
			given = maps.Clone(force)
		}
		delete(given, ref)
	}
	return given
}

// Secret returns the data of the Secret that a manifest declares.
func (d *Directory) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	s, ok := d.force[object.Ref{Kind: kindSecret, Namespace: namespace, Name: name}].object.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, source.ErrNoSecret)
	}
	return source.CopyData(s.Data), nil
}
