package identity_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/gateway/identity"
)

// cluster knows tokens and rights.
type cluster struct {
	mu        sync.Mutex
	users     map[string]authenticationv1.UserInfo // by token
	audiences []string                             // that it confirms
	meant     [][]string                           // the audiences that reviews asked for
	judge     func(s *authorizationv1.SubjectAccessReviewStatus)
	allowed   map[string]bool // "user verb resource/subresource name"
	down      error
	hangs     chan struct{}
	tokens    int // reviews
	access    []authorizationv1.SubjectAccessReviewSpec
}

func newCluster() *cluster {
	return &cluster{
		users:   map[string]authenticationv1.UserInfo{"ann": {Username: "ann", UID: "u1", Groups: []string{"dev"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}},
		allowed: map[string]bool{},
	}
}

func (c *cluster) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *cluster) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if c.hangs != nil {
			<-c.hangs
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tokens++
		c.meant = append(c.meant, a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).Spec.Audiences)
		review := a.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview).DeepCopy()
		review.Status.User, review.Status.Authenticated = c.users[review.Spec.Token], c.users[review.Spec.Token].Username != ""
		review.Status.Audiences = c.audiences
		return true, review, c.down
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		c.access = append(c.access, review.Spec)
		if r := review.Spec.ResourceAttributes; r != nil {
			review.Status.Allowed = c.allowed[strings.Join([]string{review.Spec.User, r.Verb, r.Group, r.Resource, r.Subresource, r.Namespace, r.Name}, " ")]
		}
		review.Status.Reason = "no role"
		if c.judge != nil {
			c.judge(&review.Status)
		}
		return true, review, c.down
	})
	return client
}

func bearer(t *testing.T, token string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api", http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

func authenticator(tokens *identity.Tokens) *identity.Authenticator {
	return &identity.Authenticator{ClientCAs: func() *x509.CertPool { return nil }, Tokens: tokens}
}

func TestTokensAreReviewedAndCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		a := authenticator(identity.NewTokens(c.client(), nil, identity.TTL{}))
		for range 3 {
			who, err := a.Authenticate(bearer(t, "ann"))
			require.NoError(t, err)
			require.Equal(t, &user.DefaultInfo{Name: "ann", UID: "u1", Groups: []string{"dev", user.AllAuthenticated}, Extra: map[string][]string{"k": {"v"}}}, who)
			who, err = a.Authenticate(bearer(t, "eve"))
			require.NoError(t, err)
			require.Nil(t, who)
		}
		require.Equal(t, 2, c.tokens)
		who, err := a.Authenticate(bearer(t, ""))
		require.NoError(t, err)
		require.Nil(t, who, "nobody is anonymous")

		c.change(func() {
			c.users["eve"], c.users["ann"] = authenticationv1.UserInfo{Username: "eve"}, authenticationv1.UserInfo{}
		})
		time.Sleep(11 * time.Second)
		who, err = a.Authenticate(bearer(t, "eve"))
		require.NoError(t, err)
		require.Equal(t, "eve", who.GetName(), "an unknown token is asked about again soon")
		time.Sleep(50 * time.Second)
		who, err = a.Authenticate(bearer(t, "ann"))
		require.NoError(t, err)
		require.Nil(t, who, "a revoked token is known for a minute at most")
	})
}

func TestManyWithOneTokenAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		c.hangs = make(chan struct{})
		a := authenticator(identity.NewTokens(c.client(), nil, identity.TTL{}))
		impatient, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		for i := range 20 {
			r := bearer(t, "ann")
			if i == 0 {
				r = r.WithContext(impatient)
			}
			wait.Go(func() {
				who, err := a.Authenticate(r)
				if i > 0 && (err != nil || who == nil) {
					t.Errorf("request %d: %v %v", i, who, err)
				}
			})
			synctest.Wait()
		}
		cancel()
		synctest.Wait()
		close(c.hangs)
		wait.Wait()
		require.Equal(t, 1, c.tokens, "not even if the first gives up")
	})
}

func TestATokenIsMeantForAnAudience(t *testing.T) {
	for _, tc := range []struct {
		name      string
		confirmed []string
		known     bool
	}{
		{"the one", []string{"gateway"}, true},
		{"one of them", []string{"x", "other"}, true},
		{"another", []string{"x"}, false},
		{"none", nil, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster()
			c.audiences = tc.confirmed
			who, err := authenticator(identity.NewTokens(c.client(), []string{"gateway", "other"}, identity.TTL{})).Authenticate(bearer(t, "ann"))
			require.NoError(t, err)
			require.Equal(t, tc.known, who != nil)
			require.Equal(t, [][]string{{"gateway", "other"}}, c.meant)
		})
	}
}

// TestAnUnreachableClusterIsNoRefusal tells a client whose token is good to come back, instead of to log in again.
func TestAnUnreachableClusterIsNoRefusal(t *testing.T) {
	c := newCluster()
	c.down = errors.New("connection refused")
	a := authenticator(identity.NewTokens(c.client(), nil, identity.TTL{}))
	_, err := a.Authenticate(bearer(t, "ann"))
	require.ErrorIs(t, err, identity.ErrUnavailable)
	c.change(func() { c.down = nil })
	who, err := a.Authenticate(bearer(t, "ann"))
	require.NoError(t, err)
	require.NotNil(t, who, "a failure is not cached")
}

// TestMadeUpTokensEvictNobody sends more tokens than the cache has room for.
func TestMadeUpTokensEvictNobody(t *testing.T) {
	c := newCluster()
	client := c.client()
	client.ClearActions()
	a := authenticator(identity.NewTokens(client, nil, identity.TTL{Positive: time.Hour, Negative: time.Hour}))
	_, err := a.Authenticate(bearer(t, "ann"))
	require.NoError(t, err)
	for i := range 9000 {
		_, err := a.Authenticate(bearer(t, fmt.Sprint("made-up-", i)))
		require.NoError(t, err)
	}
	require.Equal(t, 9001, c.tokens)
	who, err := a.Authenticate(bearer(t, "ann"))
	require.NoError(t, err)
	require.NotNil(t, who)
	require.Equal(t, 9001, c.tokens)
}

// TestMadeUpTokensTakeNoReviewsFromOthers sends many tokens from one address.
func TestMadeUpTokensTakeNoReviewsFromOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		for i := range 1000 {
			c.users[fmt.Sprint("user-", i)] = authenticationv1.UserInfo{Username: fmt.Sprint("user-", i)}
		}
		a := authenticator(identity.NewTokens(c.client(), nil, identity.TTL{}))
		from := func(address, token string) (user.Info, error) {
			r := bearer(t, token)
			return a.Authenticate(r.WithContext(identity.WithConnection(r.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address)))))
		}
		for i := range 1000 {
			who, err := from("192.0.2.1:1", fmt.Sprint("user-", i))
			require.NoError(t, err)
			require.NotNil(t, who, "known tokens do not count")
		}
		c.tokens = 0
		for i := range 1000 {
			who, err := from(fmt.Sprint("192.0.2.1:", i+1), fmt.Sprint("made-up-", i))
			require.Nil(t, who)
			if i >= 100 {
				require.ErrorIs(t, err, identity.ErrUnavailable)
			}
		}
		require.Equal(t, 100, c.tokens)
		who, err := from("192.0.2.1:1", "user-7")
		require.NoError(t, err)
		require.NotNil(t, who, "what is cached is not reviewed")
		_, err = from("192.0.2.1:1", "ann")
		require.ErrorIs(t, err, identity.ErrUnavailable)
		_, err = from("[::ffff:192.0.2.1]:1", "ann")
		require.ErrorIs(t, err, identity.ErrUnavailable, "the same address, as a listener for both families writes it")
		who, err = from("[::ffff:192.0.2.2]:1", "ann")
		require.NoError(t, err)
		require.NotNil(t, who, "other addresses do not wait")

		time.Sleep(time.Second)
		c.tokens = 0
		for i := range 100 {
			_, _ = from("192.0.2.1:1", fmt.Sprint("made-up-again-", i))
		}
		require.Equal(t, 10, c.tokens, "so many a second")
		c.tokens = 0
		for i := range 200 {
			_, _ = from(fmt.Sprintf("[2001:db8::%x]:1", i), fmt.Sprint("made-up-v6-", i))
		}
		require.Equal(t, 100, c.tokens, "a network of IPv6 is one address")
		_, err = from("[2001:db8:0:1::1]:1", "made-up")
		require.NoError(t, err)
	})
}

func TestAccessAsksForSelectors(t *testing.T) {
	c := newCluster()
	access := identity.NewAccess(c.client(), identity.TTL{})
	labelSelector, err := labels.Parse("app in (a,b),!x")
	require.NoError(t, err)
	requirements, _ := labelSelector.Requirements()
	ask := func(node string) {
		_, _, err := access.Authorize(t.Context(), &authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "n"}, Verb: "list", Resource: "pods", APIVersion: "v1", ResourceRequest: true,
			FieldSelectorRequirements: fields.OneTermEqualSelector("spec.nodeName", node).Requirements(), LabelSelectorRequirements: requirements,
		})
		require.NoError(t, err)
	}
	ask("n1")
	ask("n1")
	ask("n2")
	require.Len(t, c.access, 2, "the selector is part of the question")
	got := c.access[0].ResourceAttributes
	require.Equal(t, "spec.nodeName", got.FieldSelector.Requirements[0].Key)
	require.Equal(t, []string{"n1"}, got.FieldSelector.Requirements[0].Values)
	require.Len(t, got.LabelSelector.Requirements, 2)
}

// TestAccessIsWhatTheClusterSays checks whose access is reviewed, and which answers are permissions and are kept.
func TestAccessIsWhatTheClusterSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		access := identity.NewAccess(c.client(), identity.TTL{})
		who := &user.DefaultInfo{Name: "ann", UID: "u1", Groups: []string{"dev"}, Extra: map[string][]string{"k": {"v"}}}
		ask := func() bool {
			decision, _, err := access.Authorize(t.Context(), &authorizer.AttributesRecord{User: who, Verb: "list", Resource: "pods", ResourceRequest: true})
			require.NoError(t, err)
			return decision == authorizer.DecisionAllow
		}
		c.judge = func(s *authorizationv1.SubjectAccessReviewStatus) { s.EvaluationError = "a webhook is away" }
		require.False(t, ask())
		require.False(t, ask())
		require.Len(t, c.access, 2, "what the cluster could not decide is not kept")
		require.Equal(t, authorizationv1.SubjectAccessReviewSpec{
			User: "ann", UID: "u1", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods"},
		}, c.access[0])
		c.judge = func(s *authorizationv1.SubjectAccessReviewStatus) { s.Allowed, s.Denied = true, true }
		require.False(t, ask(), "a denial takes precedence")
		time.Sleep(11 * time.Second)
		c.judge = func(s *authorizationv1.SubjectAccessReviewStatus) { s.Allowed = true }
		require.True(t, ask(), "a refusal is kept for 10 seconds")
		c.judge = nil
		time.Sleep(59 * time.Second)
		require.True(t, ask())
		time.Sleep(2 * time.Second)
		require.False(t, ask(), "a right that was withdrawn is known for a minute at most")
	})
}

// TestCertificatesExpireOnTheirConnections has a certificate that expires while its connection is in use.
func TestCertificatesExpireOnTheirConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		issue := func(usage x509.ExtKeyUsage) *x509.Certificate {
			template := &x509.Certificate{
				SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ann"}, NotAfter: time.Now().Add(30 * time.Second),
				IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{usage},
			}
			der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
			require.NoError(t, err)
			cert, err := x509.ParseCertificate(der)
			require.NoError(t, err)
			return cert
		}
		ask := func(cert *x509.Certificate) func() user.Info {
			roots := x509.NewCertPool()
			roots.AddCert(cert)
			a := &identity.Authenticator{ClientCAs: func() *x509.CertPool { return roots }, Tokens: identity.NewTokens(newCluster().client(), nil, identity.TTL{})}
			r := bearer(t, "")
			r = r.WithContext(identity.WithConnection(r.Context(), nil))
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
			return func() user.Info {
				who, err := a.Authenticate(r)
				require.NoError(t, err)
				return who
			}
		}
		ann := ask(issue(x509.ExtKeyUsageClientAuth))
		require.Equal(t, "ann", ann().GetName())
		time.Sleep(29 * time.Second)
		require.NotNil(t, ann())
		time.Sleep(2 * time.Second)
		require.Nil(t, ann(), "it has expired")
		require.Nil(t, ask(issue(x509.ExtKeyUsageServerAuth))(), "a certificate of a server is none of a client")
	})
}

func TestImpersonationIsAuthorized(t *testing.T) {
	requester := &user.DefaultInfo{Name: "ann", Groups: []string{"dev"}}
	const (
		bob     = "ann impersonate  users   bob"
		ops     = "ann impersonate  groups   ops"
		uid     = "ann impersonate authentication.k8s.io uids   u2"
		scope   = "ann impersonate authentication.k8s.io userextras acme.com/scope  view"
		account = "ann impersonate  serviceaccounts  shop web"
	)
	all := []string{bob, ops, uid, scope}
	full := http.Header{
		"Impersonate-User": {"bob"}, "Impersonate-Group": {"ops"}, "Impersonate-Uid": {"u2"},
		"Impersonate-Extra-Acme.com%2fscope": {"view"},
	}
	for _, tc := range []struct {
		name    string
		header  http.Header
		allowed []string
		want    user.Info
		err     error
	}{
		{"nobody asks", http.Header{}, nil, requester, nil},
		{"a user", http.Header{"Impersonate-User": {"bob"}}, []string{bob}, &user.DefaultInfo{Name: "bob", Groups: []string{user.AllAuthenticated}}, nil},
		{"everything", full, all, &user.DefaultInfo{
			Name: "bob", UID: "u2", Groups: []string{"ops", user.AllAuthenticated}, Extra: map[string][]string{"acme.com/scope": {"view"}},
		}, nil},
		{"not the user", full, all[1:], nil, identity.ErrForbidden},
		{"not the group", full, []string{bob, uid, scope}, nil, identity.ErrForbidden},
		{"not the uid", full, []string{bob, ops, scope}, nil, identity.ErrForbidden},
		{"not the extra value", full, all[:3], nil, identity.ErrForbidden},
		{"a service account", http.Header{"Impersonate-User": {"system:serviceaccount:shop:web"}}, []string{account}, &user.DefaultInfo{
			Name: "system:serviceaccount:shop:web", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:shop", user.AllAuthenticated},
		}, nil},
		{"a service account is no user", http.Header{"Impersonate-User": {"system:serviceaccount:shop:web"}}, []string{"ann impersonate  users   system:serviceaccount:shop:web"}, nil, identity.ErrForbidden},
		{"an unknown user", http.Header{"Impersonate-User": {"system:anonymous"}}, []string{"ann impersonate  users   system:anonymous"}, &user.DefaultInfo{
			Name: "system:anonymous", Groups: []string{user.AllUnauthenticated},
		}, nil},
		{"a group alone", http.Header{"Impersonate-Group": {"ops"}}, all, nil, identity.ErrBadImpersonation},
		{"a uid alone", http.Header{"Impersonate-Uid": {"u2"}}, all, nil, identity.ErrBadImpersonation},
		{"an extra value alone", http.Header{"Impersonate-Extra-X": {"y"}}, all, nil, identity.ErrBadImpersonation},
		{"a header of the future", http.Header{"Impersonate-User": {"bob"}, "Impersonate-Node": {"n"}}, all, nil, identity.ErrBadImpersonation},
		{"too many groups", http.Header{"Impersonate-User": {"bob"}, "Impersonate-Group": make([]string, 200)}, all, nil, identity.ErrBadImpersonation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster()
			for _, right := range tc.allowed {
				c.allowed[right] = true
			}
			got, err := identity.Effective(t.Context(), identity.NewAccess(c.client(), identity.TTL{}), requester, tc.header)
			require.ErrorIs(t, err, tc.err)
			if tc.err == nil {
				require.Equal(t, fmt.Sprintf("%+v", tc.want), fmt.Sprintf("%+v", got))
			}
			for _, spec := range c.access {
				require.Equal(t, "ann", spec.User)
				require.Equal(t, []string{"dev"}, spec.Groups)
			}
		})
	}
	c := newCluster()
	c.down = errors.New("connection refused")
	_, err := identity.Effective(t.Context(), identity.NewAccess(c.client(), identity.TTL{}), requester, full)
	require.ErrorIs(t, err, identity.ErrUnavailable, "without an answer nobody may")
}

func TestWhatClientsSayAboutThemselvesIsStripped(t *testing.T) {
	h := http.Header{
		"Authorization": {"Bearer x"}, "Impersonate-User": {"a"}, "Impersonate-Group": {"b"}, "Impersonate-Uid": {"c"}, "Impersonate-Extra-D": {"e"},
		"Impersonate-Future": {"x"}, "X-Remote-User": {"f"}, "X-Remote-Group": {"g"}, "X-Remote-Uid": {"h"}, "X-Remote-Extra-I": {"j"}, "Accept": {"k"},
		"Sec-Websocket-Protocol": {"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0", "base64url.bearer.authorization.k8s.io.x"},
	}
	identity.Strip(h)
	require.Equal(t, http.Header{"Accept": {"k"}, "Sec-Websocket-Protocol": {"v5.channel.k8s.io"}}, h)
}

func TestUsersAreForwarded(t *testing.T) {
	for _, tc := range []struct {
		name string
		who  user.DefaultInfo
		want http.Header // nil if the user cannot be forwarded
	}{
		{
			"all of a user",
			user.DefaultInfo{Name: "ann", UID: "u1", Groups: []string{"dev", "system:authenticated"}, Extra: map[string][]string{"acme.com/Scope": {"a", "b"}}},
			http.Header{
				"Impersonate-User": {"ann"}, "Impersonate-Uid": {"u1"}, "Impersonate-Group": {"dev"},
				http.CanonicalHeaderKey("Impersonate-Extra-acme.com%2f%53cope"): {"a", "b"},
			},
		},
		{
			"a service account",
			user.DefaultInfo{Name: "system:serviceaccount:n:a", Groups: []string{"system:serviceaccounts", "system:serviceaccounts:n", "system:authenticated"}},
			http.Header{"Impersonate-User": {"system:serviceaccount:n:a"}},
		},
		{
			"a service account in other groups",
			user.DefaultInfo{Name: "system:serviceaccount:n:a", Groups: []string{"system:serviceaccounts", "system:authenticated"}},
			http.Header{"Impersonate-User": {"system:serviceaccount:n:a"}, "Impersonate-Group": {"system:serviceaccounts"}},
		},
		{
			"an unknown user",
			user.DefaultInfo{Name: "x", Groups: []string{"system:unauthenticated", "system:authenticated"}},
			http.Header{"Impersonate-User": {"x"}, "Impersonate-Group": {"system:unauthenticated", "system:authenticated"}},
		},
		{"text of any language", user.DefaultInfo{Name: "Анна"}, http.Header{"Impersonate-User": {"Анна"}}},
		{"a user who would become admin", user.DefaultInfo{Name: " admin"}, nil},
		{"a group that would become another", user.DefaultInfo{Name: "a", Groups: []string{"system:masters\t"}}, nil},
		{"an empty group", user.DefaultInfo{Name: "a", Groups: []string{""}}, nil},
		{"a second header", user.DefaultInfo{Name: "a\r\nImpersonate-Group: system:masters"}, nil},
		{"a uid with a line end", user.DefaultInfo{Name: "a", UID: "u\n"}, nil},
		{"an extra value with a null byte", user.DefaultInfo{Name: "a", Extra: map[string][]string{"k": {"\x00"}}}, nil},
		{"nobody", user.DefaultInfo{}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h, err := identity.Impersonation(t.Context(), &tc.who)
			if tc.want == nil {
				require.ErrorIs(t, err, identity.ErrUnspeakable)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, h)
		})
	}
}

// FuzzImpersonate checks that a user who is forwarded is read as the same user by the rules of an API server.
func FuzzImpersonate(f *testing.F) {
	f.Add("ann", "u1", "dev", "acme.com/Scope", "view")
	f.Add(" x", "", "a,b", "%41", "é")
	f.Fuzz(func(t *testing.T, name, uid, group, key, value string) {
		who := &user.DefaultInfo{Name: name, UID: uid, Groups: []string{group}, Extra: map[string][]string{key: {value}}}
		h, err := identity.Impersonation(t.Context(), who)
		if err != nil {
			return
		}
		everyone := authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionAllow, "", nil
		})
		got, err := identity.Effective(t.Context(), everyone, &user.DefaultInfo{Name: "gateway"}, h)
		require.NoError(t, err)
		require.Equal(t, name, got.GetName())
		require.Equal(t, uid, got.GetUID())
		if group != user.AllAuthenticated {
			require.Contains(t, got.GetGroups(), group)
		}
		require.Equal(t, map[string][]string{key: {value}}, got.GetExtra())
	})
}
