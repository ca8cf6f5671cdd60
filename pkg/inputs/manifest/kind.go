package manifest

import (
	"encoding/json"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// kind is how the manifests of one kind are handled.
type kind struct {
	source.Resource
	complete func(source.Object)                   // fills in what the API server would
	validate func(source.Object) field.ErrorList   // validates a completed object as the API server would
	schema   func(json.RawMessage) field.ErrorList // validates a document against the schema of its kind; nil if there is none
}

// kindOf finds a kind that can be read from manifests.
func kindOf(name string) (*kind, bool) {
	k, ok := kinds()[name]
	return k, ok
}

// kinds are those that can be read from manifests, by name: all that sources deliver, those for questions, and Secrets.
var kinds = sync.OnceValue(func() map[string]*kind {
	all := map[string]*kind{}
	for _, r := range slices.Concat(source.Resources(), source.QuestionResources()) {
		k := coreKinds()[r.Kind]
		if r.Custom {
			k.complete, k.validate = completeCustom, validateCustom(r.Namespaced)
			k.schema = func(raw json.RawMessage) field.ErrorList { return validateSchema(r.Kind, raw) }
		}
		k.Resource = r
		all[r.Kind] = &k
	}
	secret := secretKind()
	all[kindSecret] = &secret
	return all
})

func coreKinds() map[string]kind {
	return map[string]kind{
		object.KindNetworkPolicy: {complete: typed(completePolicy), validate: judged(validatePolicy)},
		object.KindPod:           {complete: typed(completePod), validate: judged(validatePod)},
		object.KindNamespace:     {complete: typed(completeNamespace), validate: judged(validateNamespace)},
		object.KindNode:          {complete: func(source.Object) {}, validate: judged(validateNode)},
		object.KindService:       {complete: typed(completeService), validate: judged(validateService)},
		object.KindEndpointSlice: {complete: typed(completeSlice), validate: judged(validateSlice)},
		object.KindEndpoints:     {complete: typed(completeEndpoints), validate: judged(validateEndpoints)},
	}
}

// typed turns a function of one type into one of any object, which ignores other types.
func typed[T source.Object](f func(T)) func(source.Object) {
	return func(o source.Object) {
		if t, ok := o.(T); ok {
			f(t)
		}
	}
}

// judged is typed for a function that validates.
func judged[T source.Object](f func(T) field.ErrorList) func(source.Object) field.ErrorList {
	return func(o source.Object) field.ErrorList {
		t, ok := o.(T)
		if !ok {
			return nil
		}
		return f(t)
	}
}
