package kube_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// foreignAPI serves discovery and lists of kinds that no source delivers.
type foreignAPI struct {
	t     *testing.T
	kinds map[string][]metav1.APIResource // by group version
	items map[string][]string             // by path, in JSON
	deny  map[string]bool                 // paths
	asked []string                        // lists that were asked for, with what of them
}

func (a *foreignAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { require.NoError(a.t, json.NewEncoder(w).Encode(v)) }
	path := r.URL.Path
	group, isGroup := strings.CutPrefix(path, "/apis/")
	resources, discovered := a.kinds[group]
	items, listed := a.items[path]
	switch {
	case path == "/api":
		answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{}})
	case path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for gv := range a.kinds {
			name, version, _ := strings.Cut(gv, "/")
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
		answer(list)
	case isGroup && discovered && resources == nil, a.deny[path]:
		w.WriteHeader(http.StatusForbidden)
		answer(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusForbidden,
			Reason: metav1.StatusReasonForbidden, Message: "forbidden: " + path,
		})
	case isGroup && discovered:
		answer(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group, APIResources: resources})
	case listed:
		what := "all"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			what = "metadata"
		}
		a.asked = append(a.asked, path+" "+what)
		a.page(w, r, items)
	default:
		http.NotFound(w, r)
	}
}

// page answers with some of the items, and where the rest begins.
func (a *foreignAPI) page(w http.ResponseWriter, r *http.Request, items []string) {
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	require.NoError(a.t, err)
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	to, next := min(from+limit, len(items)), ""
	if to < len(items) {
		next = strconv.Itoa(to)
	}
	_, err = fmt.Fprintf(w, `{"kind":"List","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items[from:to], ","))
	require.NoError(a.t, err)
}

func item(namespace, name, spec string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":"x","labels":{"a":"b"}},"spec":%s,"status":{}}`, namespace, name, spec)
}

func listForeign(t *testing.T, api *foreignAPI) *source.Undelivered {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	got, err := kube.ListForeign(t.Context(), &rest.Config{Host: server.URL, QPS: -1}, kube.ForeignKinds{
		Wanted:  func(group, kind string) bool { return strings.HasSuffix(kind, "Policy") || kind == "Subnet" },
		InGroup: func(group string) bool { return group == "cilium.io" || group == "kubeovn.io" },
		Whole:   func(_, kind string) bool { return kind == "Subnet" },
	})
	require.NoError(t, err)
	return got
}

func TestForeignKindsOfACluster(t *testing.T) {
	policies, subnets := "/apis/cilium.io/v2/policies", "/apis/kubeovn.io/v1/subnets"
	list := []string{"list"}
	api := &foreignAPI{
		t: t,
		kinds: map[string][]metav1.APIResource{
			"cilium.io/v2":         {{Name: "policies", Kind: "CiliumPolicy", Verbs: list}, {Name: "policies/status", Kind: "CiliumPolicy"}, {Name: "nodes", Kind: "Node", Verbs: list}},
			"kubeovn.io/v1":        {{Name: "subnets", Kind: "Subnet", Verbs: list}},
			"other.io/v1":          {{Name: "policies", Kind: "OtherPolicy", Verbs: list}},
			"networking.k8s.io/v1": {{Name: "networkpolicies", Kind: "NetworkPolicy", Verbs: list}},
			"metrics.k8s.io/v1":    nil, // its server does not answer
		},
		items: map[string][]string{
			policies: {item("shop", "a", `{"secret":1}`), item("", "b", `{}`)},
			subnets:  {item("", "s", `{"private":true}`)},
		},
		deny: map[string]bool{"/apis/other.io/v1/policies": true},
	}
	got := listForeign(t, api)
	objects := []string{}
	for _, o := range got.Objects {
		objects = append(objects, string(o))
	}
	require.ElementsMatch(t, []string{
		`{"apiVersion":"cilium.io/v2","kind":"CiliumPolicy","metadata":{"namespace":"shop","name":"a"}}`,
		`{"apiVersion":"cilium.io/v2","kind":"CiliumPolicy","metadata":{"name":"b"}}`,
		`{"apiVersion":"kubeovn.io/v1","kind":"Subnet","metadata":{"name":"s"},"spec":{"private":true}}`,
	}, objects)
	require.Equal(t, []source.Unlisted{{Group: "other.io", Kind: "OtherPolicy", Cause: "forbidden: /apis/other.io/v1/policies"}}, got.Unlisted)
	require.ElementsMatch(t, []string{policies + " metadata", subnets + " all"}, api.asked)

	api.kinds["cilium.io/v2"] = nil
	got = listForeign(t, api)
	require.Len(t, got.Objects, 1)
	require.Equal(t, "the kinds of cilium.io", got.Unlisted[0].String(), "a group that may have such kinds")
	api.deny["/apis"] = true
	api.kinds = nil
	got = listForeign(t, api)
	require.Empty(t, got.Objects)
}

func TestManyForeignObjects(t *testing.T) {
	policies, subnets := "/apis/cilium.io/v2/policies", "/apis/kubeovn.io/v1/subnets"
	api := &foreignAPI{
		t: t,
		kinds: map[string][]metav1.APIResource{
			"cilium.io/v2":  {{Name: "policies", Kind: "CiliumPolicy", Verbs: []string{"list"}}},
			"kubeovn.io/v1": {{Name: "subnets", Kind: "Subnet", Verbs: []string{"list"}}},
		},
		items: map[string][]string{},
	}
	for i := range 2500 {
		api.items[policies] = append(api.items[policies], item("crowded", fmt.Sprint(i), "{}"))
		api.items[subnets] = append(api.items[subnets], item("", fmt.Sprint(i), "{}"))
	}
	api.items[policies] = append(api.items[policies], item("last", "one", "{}"))
	got := listForeign(t, api)
	count := map[string]int{}
	for _, o := range got.Objects {
		var is metav1.PartialObjectMetadata
		require.NoError(t, json.Unmarshal(o, &is))
		count[is.Kind+"/"+is.Namespace]++
	}
	require.Equal(t, map[string]int{"CiliumPolicy/crowded": 1000, "CiliumPolicy/last": 1, "Subnet/": 1000}, count)
	require.Equal(t, []source.Unlisted{{Group: "kubeovn.io", Kind: "Subnet", Cause: "there are more than 1000"}}, got.Unlisted)
}
