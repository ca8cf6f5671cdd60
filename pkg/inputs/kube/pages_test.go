package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/object"
)

// pagesServer is an API of NetworkPolicies that lists them in pages, as an API server does.
type pagesServer struct {
	policies []networkingv1.NetworkPolicy
	trimmed  func() int // objects that a client has trimmed

	mu      sync.Mutex
	asked   []servedPage
	expired bool // the next page that continues a list gets 410
}

// servedPage is a page that was requested.
type servedPage struct {
	from, trimmed int // the first object, and how many the client had trimmed when it requested it
	limit         int
	bytes         int
	metadata      bool
}

func (s *pagesServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	page := servedPage{trimmed: s.trimmed(), metadata: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")}
	page.limit, _ = strconv.Atoi(query.Get("limit"))
	page.from, _ = strconv.Atoi(query.Get("continue"))
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.expired && page.from > 0 {
		s.expired = false
		w.WriteHeader(http.StatusGone)
		status := apierrors.NewResourceExpired("the list is too old").Status()
		status.SetGroupVersionKind(metav1.Unversioned.WithKind("Status"))
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	to := min(page.from+page.limit, len(s.policies))
	out := networkingv1.NetworkPolicyList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: s.policies[page.from:to]}
	out.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicyList"))
	if to < len(s.policies) {
		out.Continue = strconv.Itoa(to)
	}
	body, _ := json.Marshal(&out)
	page.bytes = len(body)
	s.asked = append(s.asked, page)
	_, _ = w.Write(body) // the client closes the connection of a page that is too large
}

// mixedPolicies are small policies, a few as large as the API allows, and more small ones.
func mixedPolicies() []networkingv1.NetworkPolicy {
	var out []networkingv1.NetworkPolicy
	add := func(n, size int) {
		for range n {
			p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("p-%04d", len(out)), ResourceVersion: "5"}}
			p.Annotations = map[string]string{"filler": strings.Repeat("x", size)}
			out = append(out, p)
		}
	}
	add(700, 100)
	add(12, 1_400_000)
	add(300, 100)
	return out
}

func startPages(t *testing.T) (*pagesServer, *rest.Config) {
	t.Helper()
	s := &pagesServer{policies: mixedPolicies(), trimmed: func() int { return 0 }}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	present(config)
	return s, config
}

// A page has at most two mebibytes or one object, and all its objects are trimmed before the next one is requested.
func TestLargeObjectsAreReadInSmallPages(t *testing.T) {
	s, config := startPages(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	r, _ := source.ResourceOf(object.KindNetworkPolicy)
	var trimmed int
	s.trimmed = func() int { return trimmed }
	lw := clients{Interface: client}.listKept(&r, func(o any) (any, error) {
		trimmed++
		r.Trim(o.(source.Object))
		return o, nil
	})
	list, err := lw.ListWithContextFunc(t.Context(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	require.NoError(t, err)
	items, err := meta.ExtractListWithAlloc(list)
	require.NoError(t, err)
	require.Len(t, items, len(s.policies))
	for i, item := range items {
		require.Equal(t, s.policies[i].Name, item.(*keptItem).kept.(*networkingv1.NetworkPolicy).Name)
	}
	require.Equal(t, "7", list.(metav1.ListInterface).GetResourceVersion())

	refused := 0
	for i, page := range s.asked {
		require.Equal(t, page.from, page.trimmed, "all objects of a page are trimmed before the next is requested")
		if used := i+1 == len(s.asked) || s.asked[i+1].from > page.from; used && page.limit > 1 {
			require.LessOrEqual(t, page.bytes, pageBytes)
		}
		if page.limit > 1 && page.bytes > pageBytes {
			refused++
		}
	}
	require.NotZero(t, refused)
	require.LessOrEqual(t, refused, 4+len(s.asked)-refused, "a refusal divides the limit by four, and other pages double it")
	require.LessOrEqual(t, len(s.asked), 60, "small objects come in large pages")
}

// Of large objects alone, each page has one, and no more pages are too large than those that find this out.
func TestOnlyLargeObjects(t *testing.T) {
	s, config := startPages(t)
	s.policies = s.policies[700:712]
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	r, _ := source.ResourceOf(object.KindNetworkPolicy)
	list, err := clients{Interface: client}.listKept(&r, func(o any) (any, error) { return o, nil }).ListWithContextFunc(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, len(s.policies), meta.LenList(list))
	require.Len(t, s.asked, 4+len(s.policies))
}

// A list that the API no longer continues is an error, not a part of a list; read again, it is whole.
func TestAnExpiredListIsReadAgain(t *testing.T) {
	s, config := startPages(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	s.expired = true
	r, _ := source.ResourceOf(object.KindNetworkPolicy)
	lw := clients{Interface: client}.listKept(&r, func(o any) (any, error) { return o, nil })
	_, err = lw.ListWithContextFunc(t.Context(), metav1.ListOptions{})
	require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	list, err := lw.ListWithContextFunc(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, len(s.policies), meta.LenList(list))
}

// What is held is compared with metadata, in pages that are bounded too.
func TestComparisonsReadMetadata(t *testing.T) {
	s, config := startPages(t)
	client, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	r, _ := source.ResourceOf(object.KindNetworkPolicy)
	p := newPages(clients{metadata: client}.listMetadata(&r))
	seen, opts := 0, metav1.ListOptions{Limit: 500}
	for {
		o, err := p.read(t.Context(), opts)
		require.NoError(t, err)
		seen += meta.LenList(o)
		list, err := meta.ListAccessor(o)
		require.NoError(t, err)
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			break
		}
	}
	require.Equal(t, len(s.policies), seen)
	for _, page := range s.asked {
		require.True(t, page.metadata)
	}
}

// The bytes of a page are those that the API server sends: it is not read as a whole to be trimmed.
func TestAPageIsBoundedBeforeItIsTrimmed(t *testing.T) {
	var list networkingv1.NetworkPolicyList
	for i := range 8 {
		p := networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("p-", i)}}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":"` + strings.Repeat("x", pageBytes/4) + `"}`)}}
		list.Items = append(list.Items, p)
	}
	list.SetGroupVersionKind(networkingv1.SchemeGroupVersion.WithKind("NetworkPolicyList"))
	var body bytes.Buffer
	require.NoError(t, protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&list, &body))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(body.Bytes()) // the client closes the connection
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	present(config)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	size := &pageSize{most: pageBytes}
	_, err = listWatch(client.NetworkingV1().NetworkPolicies("")).ListWithContextFunc(context.WithValue(t.Context(), pageKey{}, size), metav1.ListOptions{})
	require.ErrorIs(t, err, errPageTooLarge)
	require.Equal(t, pageBytes+1, size.read)
}
