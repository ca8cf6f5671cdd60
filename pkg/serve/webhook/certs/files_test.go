package certs_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/netloom/netloom/pkg/serve/webhook/certs"
)

// pem is a certificate with its key, as another program would write them.
func pem(t *testing.T) (cert, key []byte) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client := api()
		_, stop := start(t, client, options())
		synctest.Wait()
		s, err := client.CoreV1().Secrets("netloom-system").Get(t.Context(), "webhook", metav1.GetOptions{})
		require.NoError(t, err)
		cert, key = s.Data["tls.crt"], s.Data["tls.key"]
		stop()
	})
	return cert, key
}

func TestFilesAreReadAgainWhenTheyChange(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	age := time.Hour
	write := func(name string, text []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(name, text, 0o600))
		age -= time.Minute // timestamps of file systems are coarse
		require.NoError(t, os.Chtimes(name, time.Time{}, time.Now().Add(-age)))
	}
	f := certs.NewFiles(certFile, keyFile, quiet())
	_, err := f.Certificate()
	require.ErrorContains(t, err, "read certificate and key: ", "there are none yet")

	cert, key := pem(t)
	write(certFile, cert)
	write(keyFile, key)
	first, err := f.Certificate()
	require.NoError(t, err)
	require.NoError(t, f.Trouble())
	again, err := f.Certificate()
	require.NoError(t, err)
	require.Same(t, first, again, "nothing changed")

	cert, key = pem(t)
	write(certFile, cert)
	half, err := f.Certificate()
	require.NoError(t, err)
	require.Same(t, first, half, "the key is not there yet")
	write(keyFile, key)
	second, err := f.Certificate()
	require.NoError(t, err)
	require.NotEqual(t, first.Certificate, second.Certificate)

	require.NoError(t, os.Remove(keyFile))
	last, err := f.Certificate()
	require.NoError(t, err)
	require.Same(t, second, last)
	require.ErrorContains(t, f.Trouble(), "read certificate and key: ")
}
