package manifest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	mcs "sigs.k8s.io/mcs-api/config/crd"
	policyv1alpha1 "sigs.k8s.io/network-policy-api/apis/v1alpha1"

	"github.com/netloom/netloom/deploy/crds"
	"github.com/netloom/netloom/pkg/apis/clusterpolicy"
	"github.com/netloom/netloom/pkg/apis/crdschema"
	ovnkubernetes "github.com/netloom/netloom/pkg/apis/ovnkubernetes/v1"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// completeCustom fills in the defaults that definitions have and that "" does not stand for: the protocols of ports.
func completeCustom(o source.Object) {
	switch o := o.(type) {
	case *policyv1alpha1.AdminNetworkPolicy:
		for i := range o.Spec.Ingress {
			completeAdminPorts(o.Spec.Ingress[i].Ports)
		}
		for i := range o.Spec.Egress {
			completeAdminPorts(o.Spec.Egress[i].Ports)
		}
	case *policyv1alpha1.BaselineAdminNetworkPolicy:
		for i := range o.Spec.Ingress {
			completeAdminPorts(o.Spec.Ingress[i].Ports)
		}
		for i := range o.Spec.Egress {
			completeAdminPorts(o.Spec.Egress[i].Ports)
		}
	}
}

func completeAdminPorts(ports *[]policyv1alpha1.AdminNetworkPolicyPort) {
	if ports == nil {
		return
	}
	for i := range *ports {
		p := &(*ports)[i]
		if p.PortNumber != nil && p.PortNumber.Protocol == "" {
			p.PortNumber.Protocol = corev1.ProtocolTCP
		}
		if p.PortRange != nil && p.PortRange.Protocol == "" {
			p.PortRange.Protocol = corev1.ProtocolTCP
		}
	}
}

// validateCustom returns a function that validates the metadata of objects that a CRD defines.
func validateCustom(namespaced bool) func(source.Object) field.ErrorList {
	return func(o source.Object) field.ErrorList {
		return apivalidation.ValidateObjectMetaAccessor(o, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	}
}

// definitions are the schemas by which an API server admits objects that a CRD defines. They are read once, when the first
// object is validated.
var definitions = sync.OnceValues(func() (map[string]*crdschema.Definition, error) {
	texts := [][]byte{mcs.ServiceImportCRD}
	for _, dir := range []embed.FS{crds.Definitions, clusterpolicy.Definitions, ovnkubernetes.Definitions} {
		files, err := fs.Glob(dir, "*.yaml")
		if err != nil {
			return nil, err
		}
		for _, name := range files {
			text, err := fs.ReadFile(dir, name)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
	}
	all := map[string]*crdschema.Definition{}
	for _, text := range texts {
		d, err := crdschema.Parse(text)
		if err != nil {
			return nil, err
		}
		all[d.Kind] = d
	}
	return all, nil
})

// validateSchema validates an object, as written, against the schema of its kind.
func validateSchema(kind string, raw json.RawMessage) field.ErrorList {
	all, err := definitions()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	d := all[kind]
	if d == nil {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("there is no definition of %s", kind))}
	}
	var written map[string]any
	if err := utiljson.Unmarshal(raw, &written); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return d.Validate(written)
}
