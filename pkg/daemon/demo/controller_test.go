package demo

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnceShowsTagsAndAnswers(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Run(t.Context(), Options{Once: true, Tungsten: true}, &out, testLog(t)))
	for _, want := range []string{
		`^Written: \d+ operations in \d+ transactions: create address-group ×\d+, create application-policy-set ×2, `,
		`\nTags \(\d+\)\n  TAG +MARKS +PODS\n`,
		`\n  subject\.[0-9a-f]{6} +pods app=db in namespace shop +shop/db-0\n`,
		`\nAddress groups \(8\)\n  NAME +HOLDS +PREFIXES\n`,
		`\nFirewall rules \(\d+\)\n  POLICY +FROM +TO +SERVICE +ACTION +ORIGIN\n`,
		`\n  ingress\.3-allow(-\d)? +peer\.[0-9a-f]{6} +subject\.[0-9a-f]{6} +tcp/5432 +pass +NetworkPolicy/shop/db spec\.ingress\[0\]\n`,
		`\n  ingress\.4-isolation +any +isolated\.ingress +any +deny +\n`,
		`\n  allow  2001:db8::7 -> shop/web-0 tcp/8080 +NetworkPolicy/shop/web, egress\.6-rest\n`,
		`\n  deny   shop/web-0 -> shop/api-1 tcp/9000 +ingress\.4-isolation, egress\.4-isolation\n`,
		`\n  allow  node-b -> shop/db-0 tcp/5432 `,
		`\nLoad balancers \(3\)\n  ADDRESS +PORTS +ENDPOINTS +ORIGIN\n  10\.96\.0\.10 +tcp 80 to 8080 +shop/web-0 shop/web-1 +Service/shop/web\n`,
		`\n  Service/shop/cache  cluster tcp/10\.96\.0\.40:6379: without endpoints, connections are dropped`,
		`\n  deny   monitoring/prometheus-0 -> svc/shop/web tcp/80 `,
		`\n  allow  shop/api-0 -> svc/shop/db tcp/5432 +NetworkPolicy/shop/db, NetworkPolicy/shop/api\n`,
		`\n  -      shop/web-0 -> svc/shop/api tcp/80 +not served, see above\n`,
	} {
		require.Regexp(t, want, out.String())
	}
	require.NotContains(t, out.String(), "← unexpected")
}

func TestAnAnswerOfTheControllerThatWasNotExpectedFails(t *testing.T) {
	dir := copyOfExamples(t)
	edit(t, filepath.Join(dir, "probes.txt"), "node-a -> shop/db-0 tcp/5432 deny", "node-a -> shop/db-0 tcp/5432 allow")
	var out bytes.Buffer
	err := Run(t.Context(), Options{Manifests: dir, Once: true, Tungsten: true}, &out, testLog(t))
	require.EqualError(t, err, "1 probes were not answered as expected")
	require.Regexp(t, `  deny   node-a -> shop/db-0 tcp/5432 .*← unexpected\n`, out.String())
}

func TestAnEditShowsTheObjectsThatChange(t *testing.T) {
	dir := copyOfExamples(t)
	out := newScreen()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Options{Manifests: dir, Tungsten: true}, out, testLog(t)) }()
	out.await(t, 0, "The controller: curl '")
	edited := len(out.String())
	edit(t, filepath.Join(dir, "shop", "policies.yaml"), "5432", "5433")
	out.await(t, edited, "+ firewall-rule netloom.netloom-demo.")
	stop()
	require.NoError(t, <-ended)
}
