//go:build e2e

package e2ekube_test

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// TestWebhookRights checks that each right of the roles for admission is used, and has an effect when it is missing: the
// webhook asks in vain, says what it lacks, refuses what it cannot judge, and goes on by itself. What is listed and watched is
// independent of each other, so that is taken at once and missed one by one.
func TestWebhookRights(t *testing.T) {
	t.Parallel()
	a := newAdmission(t, "WatchList=false")
	all := rightsOfRole(t, central(t, "webhook")("ovn-nb: [tcp:127.0.0.1:6641]\n"), "netloom-webhook")
	a.spoil()
	a.restart("ok\n")
	idle := all
	await.True(t, func() bool {
		idle = unused(a.kube, webhookAccount, idle)
		return len(idle) == 0
	}, "each right is used")
	for _, q := range a.kube.Audit(webhookAccount) {
		require.False(t, q.Forbidden, "forbidden: %+v", q)
		require.False(t, q.Resource == "secrets" && q.Verb != "create" && q.Name != "netloom-webhook", "one Secret, by its name: %+v", q)
	}
	of := func(verb string, match func(right) bool) []right {
		some := slices.DeleteFunc(slices.Clone(all), func(r right) bool { return r.verb != verb || !match(r) })
		require.NotEmpty(t, some)
		return some
	}
	resource := func(name string) func(right) bool { return func(r right) bool { return r.resource == name } }
	sdwan := func(r right) bool { return r.group == v1alpha1.Group }
	for _, tc := range []struct {
		name   string
		rights []right
		before func()
		says   string
		denies bool
	}{
		{"listing what judging needs", of("list", func(r right) bool { return !sdwan(r) }), nil, "roles have not been listed: ", true},
		{"listing what objects refer to", of("list", sdwan), nil, "degraded: references to mwan3policies are not checked: ", false},
		{"watching", of("watch", func(right) bool { return true }), nil, "degraded: roles may have changed since they were listed: ", false},
		{"reading the Secret", of("get", resource("secrets")), nil, "there is no certificate yet: read Secret netloom-system/netloom-webhook: ", true},
		{"renewing", of("update", resource("secrets")), a.spoil, "there is no certificate yet: write Secret netloom-system/netloom-webhook: ", true},
		{"making the Secret", of("create", resource("secrets")), a.forget, "there is no certificate yet: write Secret netloom-system/netloom-webhook: ", true},
		{
			"reading what is trusted", of("get", resource("validatingwebhookconfigurations")), nil,
			"degraded: the certificate cannot be maintained: ValidatingWebhookConfiguration netloom-webhook: ", false,
		},
		{
			"saying what to trust", of("patch", resource("validatingwebhookconfigurations")), a.distrust,
			"degraded: the certificate cannot be maintained: ValidatingWebhookConfiguration netloom-webhook: ", true,
		},
	} {
		t.Log(tc.name)
		giveBack := without(t, a.kube, webhookAccount, tc.rights...)
		if tc.before != nil {
			tc.before()
		}
		a.restart(tc.says)
		await.True(t, func() bool { return len(missing(a.kube, webhookAccount, tc.rights)) == 0 }, "each is missed")
		if tc.denies {
			require.Error(t, a.create(a.as("onap"), bucketed("mwan3rules", "default", "x", "app-intent")), "it fails closed")
		}
		giveBack()
		a.awaitSays("ok\n")
		a.awaitAsked()
	}
	require.Empty(t, missing(a.kube, webhookAccount, all), "each was missed")
	a.bucketsOfNetloom()
}

// bucketsOfNetloom checks that netloom may write in every bucket by its role where a server knows no matchConditions.
func (a *admission) bucketsOfNetloom() {
	t := a.t
	hooks := a.kube.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	c, err := hooks.Get(t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(t, err)
	for i := range c.Webhooks {
		c.Webhooks[i].MatchConditions = nil
	}
	_, err = hooks.Update(t.Context(), c, metav1.UpdateOptions{})
	require.NoError(t, err)
	netloom := a.as(account)
	require.NoError(t, a.create(netloom, bucketed("mwan3rules", "default", "x", "basic")))
	require.NoError(t, a.kube.Client().RbacV1().ClusterRoleBindings().Delete(t.Context(), "netloom-buckets", metav1.DeleteOptions{}))
	await.True(t, func() bool {
		err = a.create(netloom, bucketed("mwan3rules", "default", "x", "basic"))
		return err != nil && strings.Contains(err.Error(), "User("+account+") don't have the permission")
	}, "it is the role that lets it")
}

// restart restarts the webhook and waits for its readiness.
func (a *admission) restart(says string) {
	a.t.Helper()
	a.pod.Kill()
	a.pod.Restart()
	a.awaitSays(says)
}

func (a *admission) awaitSays(says string) {
	a.t.Helper()
	(&world{t: a.t, kube: a.kube, netloom: a.pod}).awaitReadiness(says)
}

// spoil makes the certificate of the Secret unusable.
func (a *admission) spoil() {
	a.t.Helper()
	secrets := a.kube.Client().CoreV1().Secrets(home)
	s, err := secrets.Get(a.t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(a.t, err)
	s.Data["tls.key"] = []byte("nonsense")
	_, err = secrets.Update(a.t.Context(), s, metav1.UpdateOptions{})
	require.NoError(a.t, err)
}

// forget deletes the Secret.
func (a *admission) forget() {
	a.t.Helper()
	require.NoError(a.t, a.kube.Client().CoreV1().Secrets(home).Delete(a.t.Context(), "netloom-webhook", metav1.DeleteOptions{}))
}

// distrust makes the API server trust no authority.
func (a *admission) distrust() {
	a.t.Helper()
	hooks := a.kube.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	c, err := hooks.Get(a.t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(a.t, err)
	for i := range c.Webhooks {
		c.Webhooks[i].ClientConfig.CABundle = nil
	}
	_, err = hooks.Update(a.t.Context(), c, metav1.UpdateOptions{})
	require.NoError(a.t, err)
}

// TestReplicasShareACertificate starts two netloom run at once that answer reviews, of which one stands by and neither reaches
// its database: they make one Secret and have one authority trusted, and the API server may ask either.
func TestReplicasShareACertificate(t *testing.T) {
	t.Parallel()
	a := raiseAdmission(t, "webhook-in-daemon", "WatchList=false")
	other := ovnlab.FreeAddress(t)
	pods := []*kubelab.Pod{a.replica("netloom", 0, a.reviews), a.replica("netloom", 1, other)}
	for _, p := range pods {
		await.True(t, func() bool {
			p.Running()
			_, err := p.Get("/readyz")
			return err == nil || strings.Contains(err.Error(), "503") && !strings.Contains(err.Error(), "admission: ")
		}, "reviews are answered")
	}
	a.awaitAsked()
	secret, err := a.kube.Client().CoreV1().Secrets(home).Get(t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(secret.Data["ca.crt"]), "BEGIN CERTIFICATE"), "one authority")
	await.True(t, func() bool {
		return slices.Equal(a.served(a.reviews, secret.Data["ca.crt"]), a.served(other, secret.Data["ca.crt"]))
	}, "both serve the certificate of the Secret")
	for _, h := range a.hooks() {
		require.Equal(t, string(secret.Data["ca.crt"]), string(h.ClientConfig.CABundle), h.Name)
	}

	pods[0].Kill()
	a.callAt(other)
	a.awaitAsked()
	require.NoError(t, a.create(a.as("onap"), bucketed("mwan3rules", "default", "x", "app-intent")))
	metrics, err := pods[1].Get("/metrics")
	require.NoError(t, err)
	require.Contains(t, metrics, `netloom_admission_requests_total{operation="CREATE",path="/validate-sdewan-bucket-permission",result="denied"}`)
	require.Contains(t, metrics, "# TYPE netloom_translations_total counter\n")
	rights := rightsOfRole(t, central(t, "webhook-in-daemon")("ovn-nb: [tcp:127.0.0.1:6641]\n"), "netloom-webhook")
	require.NotContains(t, resourcesOf(rights), "pods", "netloom may list them already")
	a.spoil()
	pods[1].Kill()
	pods[1].Restart()
	a.awaitAsked()
	await.True(t, func() bool {
		rights = unused(a.kube, account, rights)
		return len(rights) == 0
	}, "netloom uses them")
	requireNothingForbidden(t, a.kube)
}

func (a *admission) hooks() []admissionregistrationv1.ValidatingWebhook {
	a.t.Helper()
	c, err := a.kube.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(a.t.Context(), "netloom-webhook", metav1.GetOptions{})
	require.NoError(a.t, err)
	return c.Webhooks
}

// served is the certificate that is served at an address to clients that trust authorities.
func (a *admission) served(address string, authorities []byte) []byte {
	a.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(a.t.Context(), "tcp", address)
	require.NoError(a.t, err)
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].Raw
}
