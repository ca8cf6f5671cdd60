//go:build e2e

package e2ekube_test

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// content is a header for a body of a type, which is also that of the answer.
func content(sent, wanted string) http.Header {
	return http.Header{"Content-Type": {sent}, "Accept": {wanted}}
}

// write is a write with a body in JSON.
func write(method, path, query, body string) exchange {
	return exchange{method: method, path: path, query: query, body: body, header: content(asJSON, asJSON), moving: true}
}

// patch is a PATCH of a type.
func patch(kind, path, query, body string) exchange {
	return exchange{method: http.MethodPatch, path: path, query: query, body: body, header: content(kind, asJSON), moving: true}
}

func (e *equal) writes() {
	const maps, pods, deployments = "/api/v1/namespaces/NS/configmaps", "/api/v1/namespaces/NS/pods", "/apis/apps/v1/namespaces/NS/deployments"
	const one = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","labels":{"a":"1"}},"data":{"x":"1"}}`
	const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}`
	e.compare(
		write("POST", maps, "dryRun=All", one),
		write("POST", maps, "", one),
		write("POST", maps, "", one), // exists
		write("POST", maps, "fieldManager=me&fieldValidation=Warn", strings.Replace(one, `"one"`, `"two","x":1`, 1)),
		write("POST", maps, "fieldValidation=Strict", strings.Replace(one, `"one"`, `"three","x":1`, 1)),
		write("POST", maps, "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"generated-"}}`),
		write("POST", maps, "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Bad_Name"}}`),
		write("POST", maps, "", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"other"}}`),
		write("POST", maps, "", `{"kind":`),
		write("POST", maps, "", ""),
		write("POST", "/api/v1/namespaces/none/configmaps", "", one),
		exchange{method: "POST", path: maps, body: one, header: content("text/plain", asJSON), moving: true},
		exchange{method: "POST", path: maps, body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\n", header: content("application/yaml", "application/yaml"), moving: true},
		exchange{method: "POST", path: maps, body: strings.Replace(one, `"x":"1"`, `"x":"`+strings.Repeat("x", 1<<20)+`"`, 1), header: content(asJSON, asJSON), moving: true, name: "too large for the API"},
		exchange{method: "POST", path: maps, body: strings.Repeat("x", 4<<20), header: content(asJSON, asJSON), moving: true, name: "too large for a body"},
		write("PUT", maps+"/one", "", strings.Replace(one, `"x":"1"`, `"x":"2"`, 1)),
		write("PUT", maps+"/one", "", strings.Replace(one, `"name":"one"`, `"name":"one","resourceVersion":"1"`, 1)), // conflict
		write("PUT", maps+"/none", "", strings.Replace(one, `"one"`, `"none"`, 1)),                                   // does not exist
		write("PUT", maps+"/one", "", strings.Replace(one, `"one"`, `"other"`, 1)),
		write("PUT", maps, "", one), // no such method
		patch("application/merge-patch+json", maps+"/one", "", `{"data":{"y":"1"}}`),
		patch("application/json-patch+json", maps+"/one", "", `[{"op":"test","path":"/data/y","value":"1"},{"op":"remove","path":"/data/y"}]`),
		patch("application/json-patch+json", maps+"/one", "", `[{"op":"test","path":"/data/y","value":"9"}]`),
		patch("application/strategic-merge-patch+json", maps+"/one", "dryRun=All", `{"data":{"$patch":"replace","z":"1"}}`),
		patch("application/apply-patch+yaml", maps+"/applied", "fieldManager=a", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {k: a}\n"),
		patch("application/apply-patch+yaml", maps+"/applied", "fieldManager=b", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {k: b}\n"),
		patch("application/apply-patch+yaml", maps+"/applied", "fieldManager=b&force=true", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\ndata: {k: b}\n"),
		patch("application/apply-patch+yaml", maps+"/applied", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied}\n"), // without a manager
		patch("application/merge-patch+json", maps+"/none", "", `{"data":{}}`),
		patch("application/none", maps+"/one", "", `{}`),
		write("POST", pods, "", pod),
		patch("application/strategic-merge-patch+json", pods+"/p", "", `{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"j"}]}}`),
		patch("application/merge-patch+json", pods+"/p", "", `{"spec":{"containers":[{"name":"d","image":"j"}]}}`), // forbidden
		patch("application/merge-patch+json", pods+"/p/status", "", `{"status":{"phase":"Running"}}`),
		patch("application/strategic-merge-patch+json", pods+"/p/ephemeralcontainers", "", `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`),
		write("POST", pods+"/p/binding", "", `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Node","name":"n0"}}`),
		write("POST", pods+"/p/eviction", "dryRun=All", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}`),
		write("POST", deployments, "", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"paused":true,"replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`),
		exchange{path: deployments + "/d/scale", moving: true},
		write("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "", `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"list","resource":"pods"}}}`),
		write("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "", `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`),
		write("DELETE", maps+"/one", "", `{"preconditions":{"resourceVersion":"1"}}`),
		write("DELETE", maps+"/one", "propagationPolicy=Foreground&dryRun=All", ""),
		write("DELETE", maps+"/one", "", `{"propagationPolicy":"Background"}`),
		write("DELETE", maps+"/one", "", ""), // is gone
		write("DELETE", pods+"/p", "gracePeriodSeconds=30", ""),
		exchange{path: pods + "/p", moving: true}, // is being deleted
		write("DELETE", pods+"/p", "gracePeriodSeconds=0", ""),
		write("DELETE", pods, "labelSelector=none", ""),
		write("DELETE", maps, "labelSelector=a", ""),
		write("DELETE", maps, "fieldSelector=metadata.name%3Dapplied", `{"kind":"DeleteOptions","apiVersion":"v1"}`),
		exchange{path: maps, query: "labelSelector=a", moving: true},
	)
	e.binaries(maps)
}

// binaries writes objects as protobuf and CBOR, and applies one in CBOR.
func (e *equal) binaries(maps string) {
	e.t.Helper()
	encoders := map[string]runtime.Encoder{
		asProtobuf: serializer.NewSerializer(scheme.Scheme, scheme.Scheme), asCBOR: cbor.NewSerializer(scheme.Scheme, scheme.Scheme),
	}
	for _, as := range []string{asProtobuf, asCBOR} {
		object := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "binary"}, Data: map[string]string{"x": "1"}}
		var body bytes.Buffer
		require.NoError(e.t, encoders[as].Encode(object, &body))
		sent := body.String()
		e.compare(
			exchange{method: "POST", path: maps, body: sent, header: content(as, as), moving: true},
			exchange{path: maps + "/binary", header: accept(as), moving: true},
			exchange{method: "PUT", path: maps + "/binary", body: sent, header: content(as, as), moving: true},
			exchange{method: "PATCH", path: maps + "/binary", query: "fieldManager=c&force=true", body: sent, header: content("application/apply-patch+cbor", as), moving: true},
			exchange{method: "DELETE", path: maps + "/binary", header: accept(as), moving: true},
		)
	}
}
