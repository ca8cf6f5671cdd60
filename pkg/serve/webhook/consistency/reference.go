package consistency

import "github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"

// Kinds lists those that refer to others or are referred to.
func Kinds() []string {
	var kinds []string
	for _, r := range v1alpha1.Resources() {
		if r.RefersTo != "" || r.Referenced {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// plainSecrets lists the fields of an object that hold a secret in plain text, each with the field to use instead.
func plainSecrets(object any) [][2]string {
	var peer *v1alpha1.IpsecPeer
	switch o := object.(type) {
	case *v1alpha1.IpsecSite:
		peer = &o.Spec.IpsecPeer
	case *v1alpha1.IpsecHost:
		peer = &o.Spec.IpsecPeer
	default:
		return nil
	}
	var fields [][2]string
	if peer.PreSharedKey != "" {
		fields = append(fields, [2]string{"spec.pre_shared_key", "pre_shared_key_secret"})
	}
	if peer.LocalPrivateCert != "" {
		fields = append(fields, [2]string{"spec.local_private_cert", "local_private_cert_secret"})
	}
	return fields
}
