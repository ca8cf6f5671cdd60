package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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
	expires int // pages of a list until the next one gets 410; 0 is any number
	since   int // pages since a list began
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
	if s.since++; page.from == 0 {
		s.since = 0
	}
	if s.expires > 0 && s.since >= s.expires {
		w.WriteHeader(http.StatusGone)
		status := apierrors.NewResourceExpired("the list is too old").Status()
		status.SetGroupVersionKind(metav1.Unversioned.WithKind("Status"))
		_ = json.NewEncoder(w).Encode(status)
		return
	}
	to := len(s.policies)
	if page.limit > 0 {
		to = min(page.from+page.limit, to)
	}
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
	lw := clients{Interface: client}.keptListWatch(&r, func(o any) (any, error) {
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
	list, err := clients{Interface: client}.keptListWatch(&r, func(o any) (any, error) { return o, nil }).ListWithContextFunc(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, len(s.policies), meta.LenList(list))
	require.Len(t, s.asked, 4+len(s.policies))
}

// A list that the API no longer continues is an error, not a part of a list; read again, it is whole. Its pages become larger, until the
// API continues it or need not.
func TestAnExpiredListIsReadAgain(t *testing.T) {
	for _, tc := range []struct {
		name    string
		expires int
		want    int // attempts
	}{
		{"never", 0, 1},
		{"not if pages are larger", 5, 2},
		{"always", 1, 3}, // all are in one page
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, config := startPages(t)
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			s.policies = slices.Repeat(s.policies[:500], 6) // six pages
			s.expires = tc.expires
			r, _ := source.ResourceOf(object.KindNetworkPolicy)
			lw := clients{Interface: client}.keptListWatch(&r, func(o any) (any, error) { return o, nil })
			list := func() (attempts int) {
				for attempts = 1; ; attempts++ {
					list, err := lw.ListWithContextFunc(t.Context(), metav1.ListOptions{})
					if err == nil {
						require.Equal(t, len(s.policies), meta.LenList(list))
						return attempts
					}
					require.True(t, apierrors.IsResourceExpired(err), "%v", err)
					require.Less(t, attempts, 10, "it would never be read")
				}
			}
			require.Equal(t, tc.want, list())
			require.LessOrEqual(t, list(), 2, "the next list begins with almost as large pages")
			s.expires = 0
			for range mostExpired {
				require.Equal(t, 1, list())
			}
			last := s.asked[len(s.asked)-1]
			require.LessOrEqual(t, last.limit, pageObjects, "pages are as small again as before")
			require.NotZero(t, last.limit)
		})
	}
}

// An object that no API server would store is an error, instead of a request without end.
func TestAnObjectThatIsTooLarge(t *testing.T) {
	asked := 0
	p := newPages(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		asked++
		require.Less(t, asked, 10)
		require.Positive(t, ctx.Value(pageKey{}).(*pageSize).most)
		return nil, errPageTooLarge
	})
	_, err := p.read(t.Context(), metav1.ListOptions{})
	require.ErrorIs(t, err, errPageTooLarge)
	require.Equal(t, 5, asked, "500, 125, 31, 7, and one object")
}

// A list of which no page suffices is read without pages.
func TestAListThatAlwaysExpires(t *testing.T) {
	p := newPages(func(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
		out := &networkingv1.NetworkPolicyList{Items: make([]networkingv1.NetworkPolicy, 1)}
		switch {
		case opts.Continue != "":
			return nil, apierrors.NewResourceExpired("the list is too old")
		case opts.Limit > 0:
			out.Continue = "more"
		}
		return out, nil
	})
	for range mostExpired {
		_, err := p.all(t.Context(), func(o any) (any, error) { return o, nil })
		require.True(t, apierrors.IsResourceExpired(err), "%v", err)
	}
	list, err := p.all(t.Context(), func(o any) (any, error) { return o, nil })
	require.NoError(t, err)
	require.Equal(t, 1, meta.LenList(list))
}

// What is held is compared with metadata, in pages that are bounded too.
func TestComparisonsReadMetadata(t *testing.T) {
	s, config := startPages(t)
	client, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	r, _ := source.ResourceOf(object.KindNetworkPolicy)
	p := newPages(clients{metadata: client}.metadataList(&r))
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
