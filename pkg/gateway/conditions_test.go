package gateway_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/apis/proxy/v1alpha1"
	"github.com/netloom/netloom/test/await"
)

// condition returns a condition of a cluster as "STATUS REASON: MESSAGE"; "" if it cannot be told.
func (r *rig) condition(name, kind string, now time.Time) string {
	for _, c := range r.gateway.Clusters().Conditions(name, now) {
		if c.Type == kind {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

// TestConditions has API servers become ready, and fail, for one and several reasons.
func TestConditions(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	a, b := newAPIServer(t, ca), newAPIServer(t, ca)
	r := newRig(t, nil)
	ready := func(want string) {
		t.Helper()
		await.True(t, func() bool { return r.condition("a.example", v1alpha1.ConditionReady, time.Now()) == want }, "%s", want)
	}
	ready("False NotServed: The gateway does not serve this cluster.")
	o := cluster("a.example", ca, a, b)
	o.Generation = 7
	r.serve(o)
	ready("True AllServersReady: All API servers are ready.")
	for _, c := range r.gateway.Clusters().Conditions("a.example", time.Now()) {
		require.EqualValues(t, 7, c.ObservedGeneration, c.Type)
		require.Equal(t, metav1.ConditionTrue, c.Status, c.Type)
	}
	b.change(func() { b.token = "another" })
	refused := b.URL + ": it does not accept the credentials of spec.clientConfig (401)"
	ready("True SomeServersReady: 1 of 2 API servers are ready. " + refused)
	a.Close()
	ready("False NoServerReady: No API server is ready. " + a.URL + ": no connection to it is possible; " + refused)

	only := cluster("a.example", ca, b)
	require.NoError(t, r.gateway.Clusters().Put(only))
	ready("False Unauthorized: No API server is ready. " + refused)
	only = only.DeepCopy()
	only.Spec.Servers[0].Disabled = true
	require.NoError(t, r.gateway.Clusters().Put(only))
	ready("False Disabled: All API servers are disabled.")
}

// TestManyAPIServersInACondition has more of them fail than a condition names.
func TestManyAPIServersInACondition(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	var servers []*apiServer
	for range 11 {
		servers = append(servers, newAPIServer(t, ca))
		servers[len(servers)-1].Close()
	}
	r := newRig(t, nil)
	require.NoError(t, r.gateway.Clusters().Put(cluster("a.example", ca, servers...)))
	var got string
	await.True(t, func() bool {
		got = r.condition("a.example", v1alpha1.ConditionReady, time.Now())
		return got != ""
	}, "all of them were checked")
	require.Contains(t, got, "False Unreachable: No API server is ready. "+servers[0].URL)
	require.Contains(t, got, servers[7].URL+": no connection to it is possible; and 3 more")
}

// TestConditionOfCredentials has certificates expire, one of two CAs first, and credentials that cannot be obtained.
func TestConditionOfCredentials(t *testing.T) {
	t.Parallel()
	ca, later := newAuthority(t), newAuthority(t)
	server := newAPIServer(t, ca)
	r := newRig(t, nil)
	o := cluster("a.example", ca, server)
	r.serve(o)
	current := func(now time.Time) string { return r.condition("a.example", v1alpha1.ConditionCredentialsCurrent, now) }
	now := time.Now()
	require.Equal(t, "True Current: All certificates and tokens can be used.", current(now))
	end := ca.cert.NotAfter
	require.Equal(t, `False Expired: spec.clientConfig.caData: the certificate of "CN=ca" has expired at `+end.UTC().Format(time.RFC3339), current(end.Add(time.Second)))

	later.validFor(2 * time.Hour)
	both := o.DeepCopy()
	both.Spec.ClientConfig.CAData = append(both.Spec.ClientConfig.CAData, later.pem()...)
	both.Spec.SecureServing.ClientCAData = append(both.Spec.SecureServing.ClientCAData, later.pem()...)
	require.NoError(t, r.gateway.Clusters().Put(both))
	require.Contains(t, current(end.Add(time.Second)), "True Current", "one of the CAs is enough")

	require.NoError(t, r.gateway.Clusters().Put(referring(ca, v1alpha1.Credentials{SecretName: "prod"}, server)))
	await.True(t, func() bool {
		return current(now) == "False NotObtained: The credentials that spec.clientConfig.credentials refers to cannot be obtained; the log of the gateway says why."
	}, "there are no Secrets")
}
