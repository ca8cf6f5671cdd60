package certs_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/pkg/serve/webhook/certs"
)

const serviceName = "netloom-webhook.netloom-system.svc"

func options() certs.Options {
	return certs.Options{
		Namespace: "netloom-system", Secret: "webhook", Names: []string{serviceName}, Configurations: []string{"netloom"}, Mutating: []string{"netloom"},
		Validity: 9 * 24 * time.Hour, Overlap: 6 * time.Hour, Interval: time.Hour,
	}
}

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// api is a client of an API with one configuration. It refuses to write Secrets that changed since they were read, which the
// fake alone does not.
func api() *fake.Clientset {
	client := fake.NewClientset(&admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "netloom"},
		Webhooks:   []admissionv1.ValidatingWebhook{{Name: "a.netloom.io"}, {Name: "b.netloom.io"}},
	}, &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "netloom"}, Webhooks: []admissionv1.MutatingWebhook{{Name: "c.netloom.io"}},
	})
	var mu sync.Mutex
	client.PrependReactor("*", "secrets", func(a clienttesting.Action) (bool, runtime.Object, error) {
		write, ok := a.(clienttesting.UpdateActionImpl)
		if !ok {
			return false, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		s, _ := write.GetObject().(*corev1.Secret)
		stored, err := client.Tracker().Get(write.GetResource(), s.Namespace, s.Name)
		if err != nil {
			return true, nil, err
		}
		now, _ := stored.(*corev1.Secret)
		if now.ResourceVersion != s.ResourceVersion {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, s.Name, errors.New("it changed"))
		}
		version, _ := strconv.Atoi(now.ResourceVersion)
		s.ResourceVersion = strconv.Itoa(version + 1)
		return true, s, client.Tracker().Update(write.GetResource(), s, s.Namespace)
	})
	return client
}

// trusted returns the authorities in the API server's configuration, which must be the same for every webhook.
func trusted(t *testing.T, client *fake.Clientset) []byte {
	t.Helper()
	c, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, c.Webhooks[0].ClientConfig.CABundle, c.Webhooks[1].ClientConfig.CABundle)
	m, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "netloom", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, c.Webhooks[0].ClientConfig.CABundle, m.Webhooks[0].ClientConfig.CABundle)
	return c.Webhooks[0].ClientConfig.CABundle
}

// accepts reports whether a client with those authorities accepts the present certificate.
func accepts(authorities []byte, c *tls.Certificate) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	_, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: serviceName})
	return err
}

func served(t *testing.T, m *certs.Managed) *tls.Certificate {
	t.Helper()
	c, err := m.Certificate()
	require.NoError(t, err)
	return c
}

// start runs a Managed until the returned function is called.
func start(t *testing.T, client *fake.Clientset, opts certs.Options) (*certs.Managed, func()) {
	t.Helper()
	m := certs.NewManaged(client, opts, quiet())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	return m, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// TestNoMomentWithoutTrust runs three replicas through many renewals. The API server learns of new authorities
// late, but accepts whatever any of them serves.
func TestNoMomentWithoutTrust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		first, stopFirst := start(t, client, options())
		second, stopSecond := start(t, client, options())
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, served(t, first).Leaf.SerialNumber, served(t, second).Leaf.SerialNumber, "the slower one takes the other's")

		const lag = 5 // hours until the API server has heard
		heard := [][]byte{trusted(t, client)}
		serials := map[string]bool{}
		for hour := range 60 * 24 {
			time.Sleep(time.Hour)
			synctest.Wait()
			heard = append(heard, trusted(t, client))
			now := heard[max(0, len(heard)-1-lag)]
			for _, m := range []*certs.Managed{first, second} {
				c := served(t, m)
				require.NoError(t, accepts(now, c), "hour %d", hour)
				serials[c.Leaf.SerialNumber.String()] = true
			}
			if hour%100 == 50 { // one restarts at any point of a renewal
				stopFirst()
				first, stopFirst = start(t, client, options())
				synctest.Wait()
			}
		}
		require.Len(t, serials, 10, "renewed each six days, by one of them")
		require.LessOrEqual(t, len(heard[len(heard)-1]), 3*len(heard[0]), "authorities that ended are forgotten")
		stopFirst()
		stopSecond()
	})
}

func TestRenewalWaitsUntilItsAuthorityIsTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		var broken atomic.Bool
		client.PrependReactor("patch", "validatingwebhookconfigurations", func(clienttesting.Action) (bool, runtime.Object, error) {
			return broken.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "validatingwebhookconfigurations"}, "netloom", nil)
		})
		m, stop := start(t, client, options())
		synctest.Wait()
		before := served(t, m)
		broken.Store(true)
		time.Sleep(8 * 24 * time.Hour) // a new pair has been made two days ago
		synctest.Wait()
		require.Equal(t, before, served(t, m))
		broken.Store(false)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.NotEqual(t, before.Leaf.SerialNumber, served(t, m).Leaf.SerialNumber)
		require.NoError(t, accepts(trusted(t, client), served(t, m)))
		stop()
	})
}

func TestWhatIsUnusableIsReplaced(t *testing.T) {
	for name, spoil := range map[string]func(*corev1.Secret){
		"a key of another certificate": func(s *corev1.Secret) { s.Data["tls.key"] = []byte("nonsense") },
		"no authority":                 func(s *corev1.Secret) { delete(s.Data, "ca.crt") },
		"nothing at all":               func(s *corev1.Secret) { s.Data = nil },
		"an invalid authority":         func(s *corev1.Secret) { s.Data["ca.crt"] = []byte("nonsense") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := api()
				m, stop := start(t, client, options())
				synctest.Wait()
				before := served(t, m)
				secrets := client.CoreV1().Secrets("netloom-system")
				s, err := secrets.Get(t.Context(), "webhook", metav1.GetOptions{})
				require.NoError(t, err)
				spoil(s)
				_, err = secrets.Update(t.Context(), s, metav1.UpdateOptions{})
				require.NoError(t, err)
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				require.NotEqual(t, before.Leaf.SerialNumber, served(t, m).Leaf.SerialNumber)
				require.NoError(t, accepts(trusted(t, client), served(t, m)))
				stop()
			})
		})
	}
}

func TestAnotherServiceNameIsAnotherCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		opts := options()
		opts.Names = []string{"old.netloom-system.svc"}
		_, stop := start(t, client, opts)
		synctest.Wait()
		stop()
		m, stop := start(t, client, options())
		synctest.Wait()
		require.NoError(t, accepts(trusted(t, client), served(t, m)))
		stop()
	})
}

func TestForeignSecretIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		mine := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "netloom-system", Name: "webhook"}, Data: map[string][]byte{"x": {1}}}
		_, err := client.CoreV1().Secrets("netloom-system").Create(t.Context(), mine, metav1.CreateOptions{})
		require.NoError(t, err)
		m, stop := start(t, client, options())
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		_, err = m.Certificate()
		require.Error(t, err)
		s, err := client.CoreV1().Secrets("netloom-system").Get(t.Context(), "webhook", metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, mine.Data, s.Data)
		stop()
	})
}

func TestARemovedAuthorityIsRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		m, stop := start(t, client, options())
		synctest.Wait()
		configurations := client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		c, err := configurations.Get(t.Context(), "netloom", metav1.GetOptions{})
		require.NoError(t, err)
		c.Webhooks[0].ClientConfig.CABundle, c.Webhooks[1].ClientConfig.CABundle = nil, nil
		_, err = configurations.Update(t.Context(), c, metav1.UpdateOptions{})
		require.NoError(t, err)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.NoError(t, accepts(trusted(t, client), served(t, m)))
		stop()
	})
}

// TestSecretHasNoKeyOfAnAuthority looks for anything that could sign.
func TestSecretHasNoKeyOfAnAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := api()
		_, stop := start(t, client, options())
		synctest.Wait()
		s, err := client.CoreV1().Secrets("netloom-system").Get(t.Context(), "webhook", metav1.GetOptions{})
		require.NoError(t, err)
		require.Len(t, s.Data, 3)
		c, err := tls.X509KeyPair(s.Data["tls.crt"], s.Data["tls.key"])
		require.NoError(t, err)
		require.False(t, c.Leaf.IsCA)
		require.Equal(t, corev1.SecretTypeTLS, s.Type)
		stop()
	})
}
