//go:build e2e

package e2ekube_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/stretchr/testify/require"
)

// accept is the header of that name.
func accept(types string, more ...string) http.Header {
	h := http.Header{"Accept": {types}}
	for i := 0; i+1 < len(more); i += 2 {
		h.Set(more[i], more[i+1])
	}
	return h
}

const (
	asJSON      = "application/json"
	asProtobuf  = "application/vnd.kubernetes.protobuf"
	asCBOR      = "application/cbor"
	asTable     = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asMetadata  = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	asMetadatas = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
)

func (e *equal) discovery() {
	for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/none/v1", "/version", "/version/", "/readyz", "/livez", "/healthz", "/", "/openapi/v3", "/openapi/v2", "/nothing"} {
		e.compare(exchange{path: path}, exchange{path: path, header: accept(asProtobuf)}, exchange{path: path, header: accept("text/html")})
	}
	for _, version := range []string{"v2", "v2beta1", "v9"} {
		as := "application/json;g=apidiscovery.k8s.io;v=" + version + ";as=APIGroupDiscoveryList"
		for _, path := range []string{"/api", "/apis"} {
			e.compare(exchange{path: path, header: accept(as)}, exchange{path: path, header: accept(as+",application/json", "Accept-Encoding", "gzip")})
			e.unchanged(exchange{path: path, header: accept(as)})
		}
	}
	e.compare(exchange{path: "/readyz", query: "verbose=1"}, exchange{path: "/livez/ping"})
	for _, as := range []string{asJSON, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"} {
		for _, path := range []string{"/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1", "/openapi/v3/apis/none"} {
			e.compare(exchange{path: path, header: accept(as)}, exchange{path: path, query: "hash=0", header: accept(as)})
			e.unchanged(exchange{path: path, header: accept(as)})
		}
	}
	e.compare(exchange{path: "/openapi/v2", header: accept("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")})
}

// unchanged asks again for what the client has.
func (e *equal) unchanged(x exchange) {
	if tag := e.send(e.legs[0], x).header.Get("Etag"); tag != "" {
		x.header = x.header.Clone()
		x.header.Set("If-None-Match", tag)
		e.compare(x)
	}
}

func (e *equal) representations() {
	exact := "resourceVersionMatch=Exact&resourceVersion=" + e.pods().ResourceVersion
	types := []string{
		"", "*/*", asJSON, asJSON + ";pretty=1", "application/yaml", asProtobuf, asProtobuf + "," + asJSON, asCBOR, asCBOR + "," + asJSON, asTable,
		asTable + "," + asJSON, asMetadata, asMetadatas, asMetadata + "," + asMetadatas, "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/cbor;as=Table;v=v1;g=meta.k8s.io", "text/plain", "application/json;q=0.1,application/yaml", "application/json;as=Nothing;v=v1;g=meta.k8s.io",
	}
	for _, as := range types {
		h := accept(as)
		for _, path := range []string{"pods", "services", "configmaps"} {
			e.compare(exchange{path: "/api/v1/namespaces/fixed/" + path, query: exact, header: h})
		}
		e.compare(
			exchange{path: "/api/v1/namespaces/fixed/pods/a", header: h}, exchange{path: "/api/v1/namespaces/fixed/pods/a", query: "pretty=true", header: h},
			exchange{path: "/api/v1/namespaces/fixed/pods/a/status", header: h}, exchange{path: "/api/v1/namespaces/fixed/pods/none", header: h},
			exchange{path: "/apis/networking.k8s.io/v1/namespaces/fixed/networkpolicies", query: exact, header: h},
			exchange{path: "/api/v1/namespaces/fixed/pods", query: exact + "&includeObject=Object", header: h},
		)
	}
	e.compare(exchange{path: "/api/v1/pods", query: exact, header: accept(asJSON, "Accept-Encoding", "gzip")},
		exchange{method: http.MethodHead, path: "/api/v1/namespaces/fixed/pods"}, exchange{method: http.MethodHead, path: "/api/v1/namespaces/fixed/pods/a"},
		exchange{method: http.MethodOptions, path: "/api/v1/namespaces/fixed/pods"})
}

// lists compares lists at versions that all legs have. What is most recent has a version that moves on its own.
func (e *equal) lists() {
	all := e.pods()
	at := all.ResourceVersion
	selectors := []url.Values{
		{},
		{"labelSelector": {"app=web"}},
		{"labelSelector": {"app!=web,app"}},
		{"fieldSelector": {"spec.nodeName=n1"}},
		{"fieldSelector": {"metadata.name=a"}},
		{"fieldSelector": {"status.phase!=Pending"}},
		{"labelSelector": {"none"}},
		{"fieldSelector": {"spec.none=x"}},
		{"labelSelector": {"a=b=c"}},
		{"fieldSelector": {"spec.nodeName"}},
	}
	versions := []url.Values{
		{},
		{"resourceVersion": {"0"}},
		{"resourceVersion": {at}},
		{"resourceVersion": {at}, "resourceVersionMatch": {"Exact"}},
		{"resourceVersion": {at}, "resourceVersionMatch": {"NotOlderThan"}},
		{"resourceVersion": {"0"}, "resourceVersionMatch": {"NotOlderThan"}},
		{"resourceVersion": {"0"}, "resourceVersionMatch": {"Exact"}},
		{"resourceVersionMatch": {"Exact"}},
		{"resourceVersion": {"x"}},
		{"resourceVersion": {"-1"}},
		{"resourceVersion": {at}, "resourceVersionMatch": {"Any"}},
		{"resourceVersion": {at}, "limit": {"2"}},
		{"resourceVersion": {at}, "resourceVersionMatch": {"Exact"}, "limit": {"2"}},
		{"resourceVersion": {"0"}, "limit": {"2"}},
		{"limit": {"2"}},
		{"limit": {"-1"}},
		{"limit": {"x"}},
		{"continue": {"none"}},
		{"timeoutSeconds": {"x"}},
		{"continue": {"none"}, "resourceVersion": {at}},
		{"allowWatchBookmarks": {"true"}},
		{"sendInitialEvents": {"true"}},
		{"unknown": {"1"}},
	}
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/fixed/pods", "/api/v1/namespaces/none/pods"} {
		for _, selector := range selectors {
			for _, version := range versions {
				q := url.Values{}
				for _, more := range []url.Values{selector, version} {
					for k, v := range more {
						q[k] = v
					}
				}
				e.compare(exchange{path: path, query: q.Encode(), moving: version.Get("resourceVersionMatch") != "Exact"})
			}
		}
		e.pages(path, at)
		e.compare(exchange{name: "a parameter that means true", path: path, query: "watch=x&timeoutSeconds=1&resourceVersion=" + at})
	}
	for _, path := range []string{"/api/v1/namespaces", "/api/v1/nodes", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices", "/apis/networking.k8s.io/v1/networkpolicies", "/api/v1/configmaps"} {
		e.compare(exchange{path: path, query: "resourceVersion=0", moving: true}, exchange{path: path, query: "limit=1&resourceVersionMatch=Exact&resourceVersion=" + at})
	}
}

// pages reads a list in pages, each leg with the same tokens.
func (e *equal) pages(path, at string) {
	next := url.Values{"resourceVersion": {at}, "resourceVersionMatch": {"Exact"}, "limit": {"1"}}
	for {
		x := exchange{path: path, query: next.Encode()}
		e.compare(x)
		var page struct {
			Metadata struct{ Continue string }
		}
		require.NoError(e.t, json.Unmarshal(e.send(e.legs[0], x).body, &page))
		if page.Metadata.Continue == "" {
			return
		}
		next = url.Values{"continue": {page.Metadata.Continue}, "limit": {"1"}}
		e.compare(exchange{path: path, query: next.Encode(), header: accept(asTable)}, exchange{path: path, query: "continue=" + url.QueryEscape(page.Metadata.Continue)})
	}
}

func (e *equal) refusals() {
	for _, path := range []string{"/api/v1/pods", "/api/v1/namespaces/fixed/pods", "/api/v1/namespaces/fixed/pods/a", "/apis/apps/v1/deployments", "/metrics", "/api"} {
		for _, query := range []string{"", "resourceVersion=0", "watch=1", "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"} {
			for _, as := range []string{asJSON, asProtobuf, asTable + "," + asJSON} {
				e.compare(exchange{path: path, query: query, token: e.web, header: accept(as)})
			}
			e.compare(exchange{path: path, query: query, token: "none", header: accept(asJSON)})
		}
	}
	for _, subresource := range []string{"exec", "attach", "portforward", "log", "eviction", "status"} {
		e.compare(exchange{path: "/api/v1/namespaces/fixed/pods/a/" + subresource, token: e.web})
	}
	e.compare(
		exchange{method: http.MethodPost, path: "/api/v1/namespaces/NS/pods", token: e.web, body: "{}", header: accept(asJSON), moving: true},
		exchange{method: http.MethodDelete, path: "/api/v1/namespaces/NS/pods", token: e.web, moving: true},
		exchange{name: "a warning", path: "/api/v1/componentstatuses/scheduler"},
		exchange{name: "impersonation that is allowed", path: "/api/v1/namespaces/fixed/pods", query: "resourceVersion=0", header: accept(asJSON, "Impersonate-User", "nobody")},
		exchange{name: "impersonation that is not", worded: true, path: "/api/v1/namespaces/fixed/pods", token: e.web, header: accept(asJSON, "Impersonate-User", "admin")},
		exchange{name: "groups without a user", worded: true, path: "/api/v1/namespaces/fixed/pods", header: accept(asJSON, "Impersonate-Group", strings.Repeat("g", 8))},
	)
}
