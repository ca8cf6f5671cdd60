package definition

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/deploy/crds"
	"github.com/netloom/netloom/pkg/apis/crdschema"
	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway/upstream"
)

// Entry is one document of a file.
type Entry struct {
	Name   string // "" if it cannot be read
	Object *v1alpha1.UpstreamCluster
	Err    error // all faults; then Object is nil
}

// Read reads the documents of a YAML or JSON file. Unknown and repeated fields are faults.
func Read(file []byte) []Entry {
	var out []Entry
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			return append(out, Entry{Err: err})
		}
		raw, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			out = append(out, Entry{Err: concealed(err)})
			continue
		}
		if string(raw) == "null" {
			continue
		}
		out = append(out, read(raw))
	}
}

func read(raw []byte) Entry {
	var head v1alpha1.UpstreamCluster
	if err := json.Unmarshal(raw, &struct {
		APIVersion *string `json:"apiVersion"`
		Kind       *string `json:"kind"`
		Metadata   any     `json:"metadata"`
	}{&head.APIVersion, &head.Kind, &struct {
		Name *string `json:"name"`
	}{&head.Name}}); err != nil {
		return Entry{Err: fmt.Errorf("expected a Kubernetes object: %w", err)}
	}
	if head.APIVersion != v1alpha1.GroupVersion.String() || head.Kind != v1alpha1.KindUpstreamCluster {
		return Entry{Name: head.Name, Err: fmt.Errorf("apiVersion %q, kind %q: expected %s, %s", head.APIVersion, head.Kind, v1alpha1.GroupVersion, v1alpha1.KindUpstreamCluster)}
	}
	object, err := Check(raw)
	return Entry{Name: head.Name, Object: object, Err: err}
}

// Check decodes an object in JSON, and returns all its faults: unknown fields, what the schema and the rules of the CRD
// reject, and certificates that cannot be used.
func Check(raw []byte) (*v1alpha1.UpstreamCluster, error) {
	object := &v1alpha1.UpstreamCluster{}
	strict, err := kjson.UnmarshalStrict(raw, object)
	faults := append([]error{}, strict...)
	wrong := validate(raw)
	for _, fault := range wrong {
		faults = append(faults, fault)
	}
	if err != nil { // a field of another type, which the schema describes better
		if len(wrong) == 0 {
			faults = append(faults, err)
		}
		return nil, errors.Join(faults...)
	}
	for _, fault := range apivalidation.ValidateObjectMeta(&object.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata")) {
		faults = append(faults, fault)
	}
	if err := errors.Join(append(faults, upstream.CheckCertificates(&object.Spec))...); err != nil {
		return nil, err
	}
	return object, nil
}

// schema is the CRD. It is parsed once, when the first object is validated.
var schema = sync.OnceValues(func() (*crdschema.Definition, error) {
	text, err := crds.Definitions.ReadFile(v1alpha1.Group + "_" + v1alpha1.PluralUpstreamCluster + ".yaml")
	if err != nil {
		return nil, err
	}
	return crdschema.Parse(text)
})

func validate(raw []byte) field.ErrorList {
	definition, err := schema()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	var object map[string]any
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return conceal(definition.Validate(object))
}

// quoted matches where YAML's parser quotes a value: an unknown alias, and a text that its tag does not fit.
var quoted = regexp.MustCompile("(unknown anchor) '.*' referenced|(cannot decode !!\\w+) `(?s:.*)`")

// concealed is an error of YAML's parser without the values that it quotes.
func concealed(err error) error { return errors.New(quoted.ReplaceAllString(err.Error(), "$1$2")) }

// conceal removes values from faults: some fields are secret.
func conceal(faults field.ErrorList) field.ErrorList {
	for _, fault := range faults {
		fault.BadValue = field.OmitValueType{}
	}
	return faults
}
