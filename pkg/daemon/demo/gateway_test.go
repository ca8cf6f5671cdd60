package demo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheGatewayIsShown runs the gateway, both API servers and their clients.
func TestTheGatewayIsShown(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Gateway: true, Once: true}, &out, testLog(t)))
	for _, want := range []string{
		`^Two API servers behind one address: https://127\.0\.0\.1:\d+\n`,
		`\nContext cluster-a\n  shop/db-0   10\.1\.0\.10\n  shop/report-0   10\.1\.0\.11\n`,
		`\nContext cluster-b\n  shop/checkout-0   10\.2\.0\.10\n  shop/web-0   10\.2\.0\.11\n`,
		`\nA client without the certificate, with a valid token of that cluster\n  Unauthorized\n`,
		`\nA watch through the gateway\n  MODIFIED shop/web-0   app=checkout\n$`,
	} {
		require.Regexp(t, want, out.String())
	}
}
