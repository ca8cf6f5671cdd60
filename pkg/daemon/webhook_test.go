package daemon_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/source/sourcetest"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/serve/webhook"
	"github.com/netloom/netloom/pkg/serve/webhook/certs"
	"github.com/netloom/netloom/pkg/serve/webhook/consistency"
	"github.com/netloom/netloom/test/await"
)

// reviewed is a daemon that answers reviews, of an API that refuses to show its Secrets while secretive is true.
func reviewed(t *testing.T, p *place, source *pipelinetest.Source, secretive bool) (daemon.Options, *fake.Clientset, *atomic.Bool) {
	t.Helper()
	client := fake.NewClientset(&admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "netloom-webhook"}, Webhooks: []admissionv1.ValidatingWebhook{{Name: "a.netloom.io"}},
	})
	refuse := new(atomic.Bool)
	refuse.Store(secretive)
	client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refuse.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "webhook", errors.New("no right"))
	})
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	opts := p.options()
	opts.Source = source
	opts.Webhook = daemon.Webhook{
		Options: webhook.Options{Listen: "127.0.0.1:0"},
		Clients: &daemon.ReviewClients{Kubernetes: client, Metadata: metadatafake.NewSimpleMetadataClient(scheme)},
		Managed: certs.Options{Namespace: "netloom-system", Secret: "webhook", Names: []string{"localhost"}, Configurations: []string{"netloom-webhook"}},
	}
	return opts, client, refuse
}

// review requests the review of a deletion by a user without rights, and returns the HTTP status.
func review(t *testing.T, d *running, client *fake.Clientset) (int, error) {
	t.Helper()
	c, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.Webhooks[0].ClientConfig.CABundle)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "DELETE", "namespace": "default",
		"resource": {"group": "batch.sdewan.akraino.org", "version": "v1alpha1", "resource": "mwan3rules"},
		"userInfo": {"username": "bob"}, "oldObject": {"metadata": {"name": "r"}}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+d.ReviewsAt()+webhook.PathBucket, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

func TestReviewsDoNotWaitForTranslation(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := pipelinetest.New()
	opts, client, _ := reviewed(t, p, source, false)
	r := start(t, opts)
	answered := func() bool {
		code, err := review(t, r, client)
		return err == nil && code == http.StatusOK
	}
	r.await("reviews to be answered", answered)
	code, body := r.get("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "the source has not synced\ntarget ovn is not in sync yet\n", body)
	require.GreaterOrEqual(t, r.metric("netloom_admission_requests_total"), 1.0, "among the other metrics")
	_, body = r.get("/metrics")
	require.Equal(t, 1, strings.Count(body, "# TYPE go_goroutines "))

	source.Sync()
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
	before := r.ReviewsAt()
	require.NoError(t, r.BreakReviews())
	r.await("reviews to be served again", func() bool { return r.ReviewsAt() != before && answered() })
	code, body = r.get("/readyz")
	require.Equal(t, http.StatusOK, code, body)
}

func TestTranslationDoesNotWaitForReviews(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n", "10.0.0.2"), pipelinetest.Policy("db", "web", "db"))
	source.Sync()
	opts, _, refuse := reviewed(t, p, source, true)
	r := start(t, opts)
	r.await("rows", func() bool { return p.server.Transactions() > 0 })
	var body string
	r.await("what is missing", func() bool {
		_, body = r.get("/readyz")
		return strings.HasPrefix(body, "admission: there is no certificate yet: read Secret netloom-system/webhook: ")
	})
	require.Contains(t, body, "no right")
	refuse.Store(false)
	r.await("ready", func() bool { code, _ := r.get("/readyz"); return code == http.StatusOK })
}

func TestAnAddressThatIsTakenEndsTheDaemon(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	p := newPlace(t)
	source := pipelinetest.New()
	source.Sync()
	opts, _, _ := reviewed(t, p, source, false)
	opts.Webhook.Listen = taken.Addr().String()
	d, err := daemon.New(opts, testLog(t))
	require.NoError(t, err)
	defer d.Close()
	require.EqualError(t, d.Run(await.Context(t)), "serve admission reviews: listen tcp "+taken.Addr().String()+": bind: address already in use")
	require.Zero(t, p.server.Transactions())
}

func TestReviewsNeedAnAPI(t *testing.T) {
	p := newPlace(t)
	opts := p.options()
	opts.Source = pipelinetest.New()
	opts.Webhook.Listen = "127.0.0.1:0"
	_, err := daemon.New(opts, testLog(t))
	require.EqualError(t, err, "admission reviews come from a Kubernetes API, and none is read")
}

// TestReviewsAreFedByTheSourceOfTheDaemon counts the watches of a daemon that answers reviews of all sorts.
func TestReviewsAreFedByTheSourceOfTheDaemon(t *testing.T) {
	api := sourcetest.NewAPI(t, nil)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: a,
  clusters: [{name: a, cluster: {server: "`+api.URL+`"}}], contexts: [{name: a, context: {cluster: a, user: a}}], users: [{name: a}]}`), 0o600))
	opts := newPlace(t).options()
	opts.Manifests, opts.Kubeconfig = "", kubeconfig
	opts.SDWAN.Enabled, opts.SDWAN.NoEvents = true, true
	opts.Webhook = daemon.Webhook{
		Options: webhook.Options{Listen: "127.0.0.1:0", Checks: map[consistency.Check]webhook.Mode{
			consistency.Dependencies: webhook.Deny, consistency.DuplicateCNF: webhook.Deny,
		}},
		NetworkPolicies: true,
		Managed:         certs.Options{Namespace: "netloom-system", Secret: "webhook", Names: []string{"localhost"}},
	}
	r := start(t, opts)
	r.await("everything to be listed", func() bool {
		_, body := r.get("/readyz")
		return !strings.Contains(body, "have not been listed") && !strings.Contains(body, "the source has not synced")
	})
	for _, plural := range []string{"clusterroles", "deployments", "firewallzones", "networkpolicies", "pods", "rolebindings"} {
		r.await("a watch of "+plural, func() bool { return api.Watches()[plural] > 0 })
	}
	watches := api.Watches()
	for plural, n := range watches {
		require.Equal(t, 1, n, plural)
	}
}
