package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/audit"
	"github.com/netloom/netloom/test/await"
)

// TestRequestsAreAudited sends requests of all kinds, and reads the events about them.
func TestRequestsAreAudited(t *testing.T) {
	ca := newAuthority(t)
	server := newAPIServer(t, ca)
	server.change(func() { server.may["alice users bob"] = true })
	path := filepath.Join(t.TempDir(), "audit.log")
	log, _ := logtest.NewNullLogger()
	events, err := audit.Open(path, log)
	require.NoError(t, err)
	r := newRig(t, func(o *gateway.Options) { o.Audit = events })
	o := cluster("a.example", ca, server)
	o.Spec.FlowControl.FlowControlSchemas = []v1alpha1.FlowControlSchema{{Name: "once", TokenBucket: &v1alpha1.TokenBucket{QPS: 1, Burst: 1}}}
	once := v1alpha1.DispatchPolicy{FlowControlSchemaName: "once", Rules: []v1alpha1.DispatchPolicyRule{{Verbs: []string{"delete"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}}
	o.Spec.DispatchPolicies = append([]v1alpha1.DispatchPolicy{once}, o.Spec.DispatchPolicies...)
	r.serve(o)
	client := r.client("a.example", ca.pair("alice", "web"))
	const pod = "https://a.example/api/v1/namespaces/shop/pods/x"

	last := func(stage auditv1.Stage) (e auditv1.Event) {
		t.Helper()
		await.True(t, func() bool {
			text, err := os.ReadFile(path)
			lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
			e = auditv1.Event{}
			return err == nil && json.Unmarshal(lines[len(lines)-1], &e) == nil && e.Stage == stage
		}, "an event of stage %s is written", stage)
		require.NoError(t, os.Remove(path))
		return e
	}

	require.Equal(t, http.StatusOK, r.ask(client, http.MethodGet, pod+"/log?container=c", "User-Agent", "test", "Audit-Id", "one").code)
	e := last(auditv1.StageResponseComplete)
	require.Equal(t, "audit.k8s.io/v1", e.APIVersion)
	require.Equal(t, "Event", e.Kind)
	require.Equal(t, auditv1.LevelMetadata, e.Level)
	require.EqualValues(t, "one", e.AuditID)
	require.Equal(t, "alice", e.User.Username)
	require.Equal(t, []string{"web", "system:authenticated"}, e.User.Groups)
	require.Nil(t, e.ImpersonatedUser)
	require.Equal(t, "get", e.Verb)
	require.Equal(t, "/api/v1/namespaces/shop/pods/x/log?container=c", e.RequestURI)
	require.Equal(t, &auditv1.ObjectReference{Resource: "pods", Subresource: "log", Namespace: "shop", Name: "x", APIVersion: "v1"}, e.ObjectRef)
	require.Equal(t, []string{"127.0.0.1"}, e.SourceIPs)
	require.Equal(t, "test", e.UserAgent)
	require.EqualValues(t, http.StatusOK, e.ResponseStatus.Code)
	require.False(t, e.StageTimestamp.Before(&e.RequestReceivedTimestamp))
	require.Equal(t, map[string]string{"gateway.netloom.io/cluster": "a.example", "gateway.netloom.io/server": server.URL, "gateway.netloom.io/dispatch-policy": "1"}, e.Annotations)

	require.Equal(t, http.StatusOK, r.ask(client, http.MethodDelete, pod, "Impersonate-User", "bob").code)
	e = last(auditv1.StageResponseComplete)
	require.Equal(t, "alice", e.User.Username)
	require.Equal(t, "bob", e.ImpersonatedUser.Username)
	require.Equal(t, "once", e.Annotations["gateway.netloom.io/flow-control-schema"])

	got := r.ask(client, http.MethodDelete, pod)
	require.Equal(t, http.StatusTooManyRequests, got.code)
	require.Equal(t, "a.example/dispatchPolicies/0", got.header.Get("X-Kubernetes-PF-FlowSchema-UID"))
	require.Equal(t, "a.example/flowControlSchemas/once", got.header.Get("X-Kubernetes-PF-PriorityLevel-UID"))
	require.NotEmpty(t, got.header.Get("Retry-After"))
	e = last(auditv1.StageResponseComplete)
	require.Equal(t, "limited", e.Annotations["gateway.netloom.io/refused"])
	require.NotContains(t, e.Annotations, "gateway.netloom.io/server")
	require.Equal(t, "Failure", e.ResponseStatus.Status)

	require.Equal(t, http.StatusUnauthorized, r.ask(r.client("a.example"), http.MethodGet, pod).code)
	e = last(auditv1.StageResponseComplete)
	require.Empty(t, e.User.Username)
	require.EqualValues(t, http.StatusUnauthorized, e.ResponseStatus.Code)

	watch, err := client.Get("https://a.example/api/v1/pods?watch=1") //nolint:noctx // the test ends it
	require.NoError(t, err)
	e = last(auditv1.StageResponseStarted)
	require.Equal(t, "watch", e.Verb)
	require.NoError(t, watch.Body.Close())
	last(auditv1.StageResponseComplete)
	require.NoError(t, events.Close())
	require.Zero(t, events.Dropped())
}

// TestCertificatesRotateUnderAWatch replaces the certificate that a cluster presents, and the CA of its clients, in the steps of the manual.
func TestCertificatesRotateUnderAWatch(t *testing.T) {
	ca, next, serving := newAuthority(t), newAuthority(t), newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, nil)
	r.serving = serving
	o := cluster("a.example", ca, server)
	o.Spec.SecureServing.CertData, o.Spec.SecureServing.KeyData = serving.issue("first", nil, "a.example")
	r.serve(o)
	old, fresh := r.client("a.example", ca.pair("alice")), r.client("a.example", next.pair("alice"))
	watch, err := old.Get("https://a.example/api/v1/pods?watch=1") //nolint:noctx // the test ends it
	require.NoError(t, err)
	defer watch.Body.Close() //nolint:errcheck // it is a test's
	event := func() {
		t.Helper()
		server.events <- "event\n"
		line := make([]byte, 6)
		_, err := watch.Body.Read(line)
		require.NoError(t, err)
		require.Equal(t, "event\n", string(line))
	}
	presented := func(client *http.Client) string {
		t.Helper()
		client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://a.example/api", http.NoBody)
		require.NoError(t, err)
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close() //nolint:errcheck // it is a test's
		return http.StatusText(response.StatusCode) + " " + response.TLS.PeerCertificates[0].Subject.CommonName
	}
	stop := r.requests(r.client("a.example", ca.pair("alice")))
	require.Equal(t, "Unauthorized first", presented(fresh))
	event()

	both := o.DeepCopy()
	both.Spec.SecureServing.ClientCAData = append(append([]byte{}, ca.pem()...), next.pem()...)
	r.serve(both)
	renewed := both.DeepCopy()
	renewed.Spec.SecureServing.CertData, renewed.Spec.SecureServing.KeyData = serving.issue("second", nil, "a.example")
	r.serve(renewed)
	require.Equal(t, "OK second", presented(fresh))
	require.Equal(t, "OK second", presented(r.client("a.example", ca.pair("alice"))))
	sent, failed := stop()
	require.Zero(t, failed, "of %d", sent)
	event()

	only := renewed.DeepCopy()
	only.Spec.SecureServing.ClientCAData = next.pem()
	r.serve(only)
	require.Equal(t, "OK second", presented(fresh))
	require.Equal(t, "Unauthorized second", presented(r.client("a.example", ca.pair("alice"))))
	event()
}
