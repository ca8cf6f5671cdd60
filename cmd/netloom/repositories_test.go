package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepositoriesAsPeoplePublishThem asks about manifests without pods, addresses or endpoints: a shop of a dozen workloads with its policies,
// and a set of policy recipes.
func TestRepositoriesAsPeoplePublishThem(t *testing.T) {
	shop := filepath.Join("..", "..", "test", "repositories", "shop")
	recipes := filepath.Join("..", "..", "test", "repositories", "recipes")
	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // lines, in any order
	}{
		{"a call that is allowed", []string{"probe", "-f", shop, "deploy/storefront->svc/catalog:3550"}, exitDone, []string{
			"allow   default/deploy/storefront -> svc/default/catalog tcp/3550",
			"    ingress  allow   NetworkPolicy/default/catalog spec.ingress[0]",
		}},
		{"a call that is not", []string{"probe", "-f", shop, "deploy/ads->svc/payment:50051"}, exitDiffers, []string{
			"deny    default/deploy/ads -> svc/default/payment tcp/50051",
		}},
		{"a port that differs from the Service's", []string{"probe", "-f", shop, "deploy/checkout->svc/mail:8080"}, exitDone, []string{
			"  tcp/(made up):8080, Service/default/mail: sent on",
		}},
		{"the world", []string{"probe", "-f", shop, "203.0.113.7->deploy/storefront:tcp/grpc"}, exitDone, nil},
		{"the world, at a Service", []string{"probe", "-f", shop, "deploy/loadgenerator->svc/storefront:80"}, exitDone, nil},
		{"a headless Service", []string{"probe", "-f", shop, "deploy/cart->svc/cart-store:6379"}, exitDone, []string{
			"allow   default/deploy/cart -> default/sts/cart-store tcp/6379",
		}},
		{"a CronJob", []string{"probe", "-f", shop, "cronjob/cart-cleanup->sts/cart-store:tcp/redis"}, exitDone, nil},
		{"peers of one workload", []string{"probe", "-f", shop, "sts/cart-store->sts/cart-store:6379"}, exitDiffers, nil},
		{"a name in DNS of a kustomization", []string{"probe", "-k", shop, "shop/deploy/ads->cart.shop.svc.cluster.local:7070"}, exitDiffers, nil},
		{"a namespace for all", []string{"probe", "-f", shop, "-n", "prod", "deploy/cart->svc/cart-store:6379"}, exitDone, []string{
			"allow   prod/deploy/cart -> prod/sts/cart-store tcp/6379",
		}},
		{"all pods of a namespace", []string{"probe", "-k", shop, "ns/shop->deploy/ads:9555", "--expect", "allow"}, exitDiffers, []string{
			"allow   shop/deploy/storefront -> shop/deploy/ads tcp/9555",
		}},
		{"impact of a policy that goes", []string{"impact", "-f", shop, "--without", "netpol/default/payment"}, exitDiffers, []string{
			"- default/deploy/checkout -> default/deploy/payment: tcp/50051",
		}},
		{"impact of default-deny", []string{"impact", "-k", shop, "--without", "netpol/shop/default-deny"}, exitDiffers, nil},
		{"a workload", []string{"explain", "-f", shop, "deploy/cart"}, exitDone, []string{
			"pod default/deploy/cart", "  addresses  (made up)",
		}},
		{"a workload that is not there", []string{"probe", "-f", shop, "deploy/carts->svc/ads:9555"}, exitFailed, nil},
		{"a policy without its namespace", []string{"explain", "-f", shop, "netpol/cart"}, exitDone, []string{"networkpolicy default/cart"}},
		{"a Service without its namespace", []string{"explain", "-f", shop, "svc/cart"}, exitDone, []string{"service default/cart"}},
		{"a Service by its name in DNS", []string{"explain", "-f", shop, "cart.default.svc.cluster.local"}, exitDone, []string{"service default/cart"}},
		{"a policy for a workload", []string{"suggest", "-f", shop, "deploy/ads->svc/cart:7070"}, exitDone, []string{
			"    matchLabels:", "      app: cart", "    - port: 7070",
		}},
		{"a policy for pods with a number", []string{"suggest", "-f", shop, "deploy/ads->sts/cart-store:6379"}, exitDone, []string{"      app: cart-store"}},
		{"impact without a workload", []string{"impact", "-f", shop, "--without", "deploy/cart"}, exitDone, []string{
			"removed: default/deploy/cart",
		}},
		{"impact of a policy in the namespace for all", []string{"impact", "-f", shop, "-n", "prod", "--without", "netpol/payment"}, exitDiffers, []string{
			"- prod/deploy/checkout -> prod/deploy/payment: tcp/50051",
		}},
		{"a plan between states", []string{"plan", "-f", shop, "--without", "netpol/default/cart"}, exitDiffers, nil},
		{"a plan that adds addresses", []string{"plan", "-f", recipes, "--with", filepath.Join(shop, "apps"), "--with", filepath.Join(shop, "policies")}, exitDiffers, nil},

		{"recipes: one client", []string{"probe", "-f", recipes, "web/shopfront->svc/bookstore:5000"}, exitDone, nil},
		{"recipes: nobody else", []string{"probe", "-f", recipes, "tools/shell->web/bookstore:5000"}, exitDiffers, nil},
		{"recipes: to its database", []string{"probe", "-f", recipes, "web/bookstore->svc/web/books-db:3306"}, exitDone, nil},
		{"recipes: another port", []string{"probe", "-f", recipes, "web/bookstore->web/books-db:22"}, exitDiffers, nil},
		{"recipes: pods of a namespace", []string{"probe", "-f", recipes, "tools/monitor->web/books-db:9100"}, exitDone, nil},
		{"recipes: from anywhere", []string{"probe", "-f", recipes, "tools/monitor->shopfront.web.svc:80"}, exitDone, nil},
		{"recipes: the world, except private networks", []string{"probe", "-f", recipes, "tools/shell->203.0.113.7:443"}, exitDone, nil},
		{"recipes: a pod is not the world", []string{"probe", "-f", recipes, "tools/shell->web/shopfront:443"}, exitDiffers, nil},
		{"recipes: impact", []string{"impact", "-f", recipes, "--without", "netpol/web/bookstore-api"}, exitDiffers, []string{
			"- web/shopfront -> web/bookstore: tcp/5000",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := netloom(t, tc.args...)
			require.Equal(t, tc.code, got.code, "%s\n%s", got.out, got.errout)
			lines := strings.Split(got.out, "\n")
			for _, want := range tc.want {
				require.Contains(t, lines, want, got.out)
			}
			require.NotRegexp(t, `\b10\.\d+\.\d+\.\d+\b`, strings.ReplaceAll(got.out, "10.0.0.0/8", ""), "made-up addresses are not shown")
			data := netloom(t, append(tc.args, "-o", "json")...)
			require.NotRegexp(t, `\b10\.(12[89]|1[3-9]\d|2\d\d)\.\d+\.\d+\b`, data.out, "nor in data")
		})
	}
	got := netloom(t, "translate", shop)
	require.Equal(t, exitDone, got.code, got.errout)
	require.Contains(t, got.errout, "note: ignored: 10 ServiceAccount, 1 Ingress\n")
	require.Contains(t, got.errout, "note: not built: 1 Kustomization; to build one, use -k DIR in place of -f DIR\n")
	require.NotContains(t, got.out, " 0  ", "every policy selects pods")
	got = netloom(t, "lint", "-f", shop, "--ignore", "policies/ca*.yaml", "--ignore", "*/policies/*", "--ignore", "CiliumNetworkPolicy")
	require.Contains(t, got.out, "; 9 policies judged")
	require.Contains(t, got.errout, "note: not read because of --ignore policies/ca*.yaml: 3\n")
	require.Contains(t, got.errout, "note: --ignore */policies/* matches no file or directory; a pattern is a name, or a path below -f\n")
	require.NotContains(t, got.errout, "Cilium")
	got = netloom(t, "impact", "-f", filepath.Join(shop, "policies"), "--without", "netpol/cart")
	require.Equal(t, exitCannotTell, got.code)
	require.Equal(t, "no pods were compared\npolicies that select none of the pods:\n"+
		"+ outside 0.0.0.0/0, ::/0 -> pods that NetworkPolicy/default/cart selects: everything\n", got.out)
	for asked, want := range map[string]string{
		"deploy/stofront->svc/cart:7070":   "from deploy/stofront: not found; did you mean deploy/default/storefront?",
		"deploy/shop/cart->svc/cart:7070":  "from deploy/shop/cart: not found; did you mean deploy/default/cart?",
		"deploy/cart-store->svc/cart:7070": "from deploy/cart-store: not found; did you mean sts/default/cart-store",
	} {
		require.Contains(t, netloom(t, "probe", "-f", shop, asked).errout, want)
	}
}
