package watch

import (
	"encoding/json"
	"io/fs"
	"slices"
	"sync"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/cache"

	"github.com/netloom/netloom/deploy/crds"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/crdschema"
)

// isSDWAN says whether a kind is one of SD-WAN resources.
func isSDWAN(kind Kind) bool {
	return slices.ContainsFunc(v1alpha1.Resources(), func(r v1alpha1.Resource) bool { return r.Kind == kind })
}

// sdwanResources are the rows of the SD-WAN kinds.
func sdwanResources() []resource {
	var rows []resource
	for _, r := range v1alpha1.Resources() {
		rows = append(rows, sdwanResource(r))
	}
	return rows
}

func sdwanResource(r v1alpha1.Resource) resource {
	kind, gvr := r.Kind, v1alpha1.GroupVersion.WithResource(r.Plural)
	return resource{
		kind: kind, version: v1alpha1.GroupVersion, plural: gvr.GroupResource().String(), namespaced: true,
		sdwan: true, empty: func() apiObject { return r.New() },
		complete: func(apiObject) {}, validate: validateSDWAN, trim: trimSDWAN,
		judge: func(raw json.RawMessage) field.ErrorList { return judgeSDWAN(kind, raw) },
		listWatch: func(c clients) *cache.ListWatch {
			return access(c.sdwan.Resource(gvr).Namespace(metav1.NamespaceAll))
		},
	}
}

// trimSDWAN drops who wrote which field, and the copy of the object that kubectl leaves.
func trimSDWAN(o apiObject) {
	o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	o.SetManagedFields(nil)
	o.SetSelfLink("")
	o.SetGenerateName("")
	o.SetOwnerReferences(nil)
	o.SetAnnotations(withoutLastApplied(o.GetAnnotations()))
}

func validateSDWAN(o apiObject) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(o, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

// sdwanDefinitions are the schemas by which an API server admits the kinds. They are read once, when the first object is
// judged.
var sdwanDefinitions = sync.OnceValues(func() (map[Kind]*crdschema.Definition, error) {
	all := map[Kind]*crdschema.Definition{}
	files, err := fs.Glob(crds.Definitions, "*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := fs.ReadFile(crds.Definitions, name)
		if err != nil {
			return nil, err
		}
		d, err := crdschema.Parse(text)
		if err != nil {
			return nil, err
		}
		all[d.Kind] = d
	}
	return all, nil
})

// judgeSDWAN holds an object, as it is written, against the schema of its kind.
func judgeSDWAN(kind Kind, raw json.RawMessage) field.ErrorList {
	all, err := sdwanDefinitions()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var written map[string]any
	if err := utiljson.Unmarshal(raw, &written); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return all[kind].Validate(written)
}

// oldGroupVersion is what some manifests of the design document say.
var oldGroupVersion = schema.GroupVersion{Group: "sdewan.akraino.org", Version: v1alpha1.Version}

// isSDWANGroup says whether the kinds of a group are those of SD-WAN resources and no others.
func isSDWANGroup(group string) bool {
	return group == v1alpha1.Group || group == oldGroupVersion.Group
}

// respell turns an object of the older group into one of the newer: connections of IPsec had other names for two fields.
// What it cannot read stays for the decoder to complain of.
func respell(kind string, raw json.RawMessage) json.RawMessage {
	if kind != KindIpsecSite && kind != KindIpsecHost {
		return raw
	}
	return inField(raw, "spec", func(spec json.RawMessage) json.RawMessage {
		return inField(spec, "connections", func(list json.RawMessage) json.RawMessage {
			var all []json.RawMessage
			if json.Unmarshal(list, &all) != nil {
				return list
			}
			for i := range all {
				all[i] = renamed(renamed(all[i], "connection_name", "name"), "type", "conn_type")
			}
			return spelled(all, list)
		})
	})
}

// inField has change applied to one field of a mapping.
func inField(raw json.RawMessage, name string, change func(json.RawMessage) json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m[name] == nil {
		return raw
	}
	m[name] = change(m[name])
	return spelled(m, raw)
}

// renamed gives a field of a mapping another name, unless there is one of that name.
func renamed(raw json.RawMessage, from, to string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m[from] == nil || m[to] != nil {
		return raw
	}
	m[to] = m[from]
	delete(m, from)
	return spelled(m, raw)
}

// spelled is v in JSON, or what it was made of.
func spelled(v any, was json.RawMessage) json.RawMessage {
	if text, err := json.Marshal(v); err == nil {
		return text
	}
	return was
}
