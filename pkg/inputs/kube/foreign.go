package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/source"
)

// ForeignKinds selects kinds that no source delivers.
type ForeignKinds struct {
	// Wanted reports whether the objects of a kind are listed, and InGroup whether a group may have such kinds.
	Wanted  func(group, kind string) bool
	InGroup func(group string) bool
	// Whole reports whether the specs of the objects are needed, and not their metadata alone.
	Whole func(group, kind string) bool
	// Questions means that a source delivers the kinds that are only needed to answer questions.
	Questions bool
	// Namespace is the only one whose objects are listed; "" lists all. Objects of the cluster are listed as far as that is allowed.
	Namespace string
}

// The bounds of a listing.
const (
	foreignPage = 500
	// maxForeign is how many objects of a kind are kept, besides the first of each namespace. If their specs are needed, a kind that has more
	// is not listed.
	maxForeign = 1000
)

// ListForeign finds out by discovery which of the kinds a cluster serves, and lists their objects. What cannot be listed is part of the
// answer; it fails only if ctx ends or the configuration cannot be used.
func ListForeign(ctx context.Context, config *rest.Config, kinds ForeignKinds) (*source.Undelivered, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	config.GroupVersion, config.NegotiatedSerializer = &schema.GroupVersion{}, scheme.Codecs.WithoutConversion()
	lister, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	out := &source.Undelivered{}
	lists, err := client.ServerPreferredResources()
	partly := new(discovery.ErrGroupDiscoveryFailed)
	switch {
	case errors.As(err, &partly):
		for version, cause := range partly.Groups {
			if kinds.InGroup(version.Group) {
				out.Unlisted = append(out.Unlisted, source.Unlisted{Group: version.Group, Cause: causeOf(cause)})
			}
		}
	case err != nil && len(lists) == 0:
		out.Unlisted = append(out.Unlisted, source.Unlisted{Cause: causeOf(err)})
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // no kind that is wanted has such a group
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			if strings.Contains(r.Name, "/") || kinds.delivered(version.Group, r.Kind) || !kinds.Wanted(version.Group, r.Kind) {
				continue
			}
			objects, err := listForeign(ctx, lister, version, r, kinds.pathOf(version, r), kinds.Whole(version.Group, r.Kind))
			out.Objects = append(out.Objects, objects...)
			if err != nil {
				out.Unlisted = append(out.Unlisted, source.Unlisted{Group: version.Group, Kind: r.Kind, Cause: causeOf(err)})
			}
		}
	}
	slices.SortFunc(out.Unlisted, func(a, b source.Unlisted) int {
		return strings.Compare(a.Group+" "+a.Kind, b.Group+" "+b.Kind)
	})
	return out, ctx.Err()
}

// causeOf is why something cannot be listed: in the words of the API, if it refused.
func causeOf(err error) string {
	if refusal := new(apierrors.StatusError); errors.As(err, &refusal) {
		return refusal.Error()
	}
	return err.Error()
}

// delivered reports whether a source delivers a kind.
func (k *ForeignKinds) delivered(group, kind string) bool {
	rows := source.Resources()
	if k.Questions {
		rows = append(rows, source.QuestionResources()...)
	}
	return slices.ContainsFunc(rows, func(r source.Resource) bool { return r.Version.Group == group && r.Kind == kind })
}

// pathOf is where the objects of a kind are listed.
func (k *ForeignKinds) pathOf(version schema.GroupVersion, r *metav1.APIResource) string {
	if k.Namespace != "" && r.Namespaced {
		return "/apis/" + version.String() + "/namespaces/" + k.Namespace + "/" + r.Name
	}
	return "/apis/" + version.String() + "/" + r.Name
}

// metadataAlone asks a server for the metadata of the objects of a list.
const metadataAlone = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// listForeign lists the objects of a kind, page by page. It returns those of the pages before an error.
func listForeign(
	ctx context.Context, client rest.Interface, version schema.GroupVersion, r *metav1.APIResource, path string, whole bool,
) (objects []json.RawMessage, err error) {
	seen, next := map[string]bool{}, ""
	for n := 0; ; {
		request := client.Get().AbsPath(path).Param("limit", strconv.Itoa(foreignPage))
		if next != "" {
			request = request.Param("continue", next)
		}
		if !whole {
			request = request.SetHeader("Accept", metadataAlone)
		}
		result := request.Do(ctx)
		if err := result.Error(); err != nil { // that of Raw does not have the words of the API
			return objects, err
		}
		text, err := result.Raw()
		if err != nil {
			return objects, err
		}
		var page struct {
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return objects, fmt.Errorf("read the list of %s: %w", r.Name, err)
		}
		for _, item := range page.Items {
			object, namespace, err := foreignObject(item, version, r.Kind, whole)
			if err != nil {
				return objects, fmt.Errorf("read the list of %s: %w", r.Name, err)
			}
			switch n++; {
			case n <= maxForeign || !seen[namespace]:
				objects, seen[namespace] = append(objects, object), true
			case whole:
				return objects, fmt.Errorf("there are more than %d", maxForeign)
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return objects, nil
		}
	}
}

// foreignObject is an item of a list with its type and name, and with its spec if it is needed.
func foreignObject(item json.RawMessage, version schema.GroupVersion, kind string, whole bool) (object json.RawMessage, namespace string, err error) {
	var is struct {
		Metadata struct {
			Namespace string `json:"namespace,omitempty"`
			Name      string `json:"name"`
		} `json:"metadata"`
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(item, &is); err != nil {
		return nil, "", err
	}
	out := map[string]any{"apiVersion": version.String(), "kind": kind, "metadata": is.Metadata}
	if whole && len(is.Spec) > 0 {
		out["spec"] = is.Spec
	}
	object, err = json.Marshal(out)
	return object, is.Metadata.Namespace, err
}
