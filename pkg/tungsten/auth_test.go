package tungsten_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	"github.com/netloom/netloom/pkg/tungsten"
)

const secret = "s3cret,with spaces"

func TestBasicAuthentication(t *testing.T) {
	s := newServer(t, simulator.Options{User: "admin", Password: secret})
	for given, accepted := range map[string]bool{secret: true, "wrong": false} {
		c := connect(t, s, func(o *tungsten.Options) { o.User, o.Password = "admin", password(given) })
		_, err := c.List(t.Context(), tungsten.KindTag, tungsten.Query{})
		if accepted {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, tungsten.ErrUnauthorized)
			require.NotContains(t, err.Error(), given)
		}
	}
	_, err := connect(t, s, nil).List(t.Context(), tungsten.KindTag, tungsten.Query{})
	require.ErrorIs(t, err, tungsten.ErrUnauthorized)
}

func TestTokensAreRenewed(t *testing.T) {
	s := newServer(t, simulator.Options{User: "admin", Password: secret, Keystone: true})
	given := secret
	c := connect(t, s, func(o *tungsten.Options) {
		o.User = "admin"
		o.Password = func(context.Context) (string, error) { return given, nil }
		o.Keystone = &tungsten.Keystone{URL: "http://keystone:5000/v3/"}
	})
	create(t, c, label("a"))
	create(t, c, label("b"))
	require.Equal(t, tungsten.Stats{Requests: 3, Tokens: 1}, c.Stats())
	s.ExpireTokens()
	create(t, c, label("c"))
	require.Equal(t, tungsten.Stats{Requests: 6, Tokens: 2}, c.Stats())
	s.Inject(simulator.At(1, simulator.ExpiredToken))
	create(t, c, label("d"))
	require.EqualValues(t, 3, c.Stats().Tokens)
	s.Inject(nil)
	s.ExpireTokens()
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			_, err := c.Create(t.Context(), label(fmt.Sprint(i)))
			require.NoError(t, err)
		})
	}
	work.Wait()
	require.EqualValues(t, 4, c.Stats().Tokens, "concurrent requests share a new token")
	given = "wrong"
	s.ExpireTokens()
	_, err := c.Create(t.Context(), label("e"))
	require.ErrorIs(t, err, tungsten.ErrUnauthorized)
	require.NotErrorIs(t, err, tungsten.ErrUnknownOutcome, "nothing was written")
}

func TestATokenThatIsRefusedAtOnceIsNoEndlessLoop(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if r.URL.Path == "/auth/tokens" {
			w.Header().Set("X-Subject-Token", "t")
			w.WriteHeader(http.StatusCreated)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	c, err := tungsten.New(tungsten.Options{
		URLs: []string{server.URL}, User: "admin", Password: password(secret), Keystone: &tungsten.Keystone{URL: server.URL},
	})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Get(t.Context(), tungsten.KindTag, "x")
	require.ErrorIs(t, err, tungsten.ErrUnauthorized)
	require.LessOrEqual(t, requests, 4)
}

func TestErrorsDoNotQuoteTokens(t *testing.T) {
	const token = "gAAAAABtoken"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = conn.Write([]byte("HTTP/1.1 201 Created\r\nX-Subject-Token " + token + "\r\n\r\n")) // without the colon
		_ = conn.Close()
	}))
	defer server.Close()
	c, err := tungsten.New(tungsten.Options{
		URLs: []string{server.URL}, User: "admin", Password: password(secret), Keystone: &tungsten.Keystone{URL: server.URL},
	})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Get(t.Context(), tungsten.KindTag, "x")
	require.ErrorContains(t, err, "not HTTP")
	require.NotContains(t, err.Error(), token)
	require.NotContains(t, err.Error(), secret)
}

// pair makes a self-signed certificate of a client.
func pair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "client"}, NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func TestTLS(t *testing.T) {
	certificate, key := pair(t)
	clients := x509.NewCertPool()
	require.True(t, clients.AppendCertsFromPEM(certificate))
	server := httptest.NewUnstartedServer(newServer(t, simulator.Options{}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, tc := range []struct {
		name string
		opts tungsten.Options
		want string
	}{
		{"the CA and a certificate", tungsten.Options{Credentials: tungsten.Credentials{CA: ca, Certificate: certificate, Key: key}}, ""},
		{"no certificate", tungsten.Options{Credentials: tungsten.Credentials{CA: ca}}, "certificate"},
		{"the CAs of the system", tungsten.Options{Credentials: tungsten.Credentials{Certificate: certificate, Key: key}}, "unknown authority"},
		{"another name", tungsten.Options{
			Credentials: tungsten.Credentials{CA: ca, Certificate: certificate, Key: key}, ServerName: "other.test",
		}, "other.test"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.opts.URLs = []string{server.URL}
			c, err := tungsten.New(tc.opts)
			require.NoError(t, err)
			defer c.Close()
			_, err = c.List(t.Context(), tungsten.KindTagType, tungsten.Query{})
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// TestCredentialsAreRenewed replaces the certificate of a client, first by half of it, after the server has stopped to trust the old
// one.
func TestCredentialsAreRenewed(t *testing.T) {
	certificate, key := pair(t)
	other, otherKey := pair(t)
	server := httptest.NewUnstartedServer(newServer(t, simulator.Options{}))
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(other))
	old := trusted.Clone()
	require.True(t, old.AppendCertsFromPEM(certificate))
	var strict atomic.Bool
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		config := server.TLS.Clone()
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, old
		if strict.Load() {
			config.ClientCAs = trusted
		}
		return config, nil
	}}
	server.Config.SetKeepAlivesEnabled(false) // each request has a connection of its own
	server.StartTLS()
	defer server.Close()
	now := tungsten.Credentials{
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), Certificate: certificate, Key: key,
	}
	var mu sync.Mutex
	set := func(change func(*tungsten.Credentials)) {
		mu.Lock()
		defer mu.Unlock()
		change(&now)
	}
	c, err := tungsten.New(tungsten.Options{URLs: []string{server.URL}, Credentials: now, Renewed: func() (tungsten.Credentials, error) {
		mu.Lock()
		defer mu.Unlock()
		return now, nil
	}})
	require.NoError(t, err)
	defer c.Close()
	list := func() error {
		_, err := c.List(t.Context(), tungsten.KindTagType, tungsten.Query{})
		return err
	}
	require.NoError(t, list())
	set(func(c *tungsten.Credentials) { c.Certificate = other })
	require.NoError(t, list(), "the key is still the old one: what was in use stays so")
	strict.Store(true)
	require.ErrorContains(t, list(), "certificate")
	set(func(c *tungsten.Credentials) { c.Key = otherKey })
	require.NoError(t, list())
}

func TestOptionsAreChecked(t *testing.T) {
	_, err := tungsten.New(tungsten.Options{
		URLs: []string{"ftp://x", "http://user:" + secret + "@host:8082", "http://h/path"}, User: "admin", Credentials: tungsten.Credentials{CA: []byte("x"), Certificate: []byte("x")},
		Keystone: &tungsten.Keystone{}, Timeout: -1,
	})
	for _, want := range []string{"ftp://x", "http://h/path", "keystone", "requires a password", "CA", "pair", "negative"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), secret)
	_, err = tungsten.New(tungsten.Options{})
	require.ErrorContains(t, err, "URL: required")
}
