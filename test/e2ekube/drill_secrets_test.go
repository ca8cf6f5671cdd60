//go:build e2e

package e2ekube_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
)

// hidden are the secrets of TestDrillSecrets, each with where it is.
var hidden = map[string]string{
	"secret": "hidden-in-a-secret", "applied": "hidden-in-last-applied", "env": "hidden-in-env", "argument": "hidden-in-an-argument",
	"note": "hidden-in-an-annotation", "image": "hidden-in-an-image",
}

// secretive has them in every field of common objects that may well contain one, except for annotations of the policy, which netloom shows
// with it. The pod makes its way into rows, and its policy has a port that it does not have.
var secretive = `
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: team-0}
stringData: {token: ` + hidden["secret"] + `}
---
apiVersion: v1
kind: Pod
metadata:
  name: secretive
  namespace: team-0
  labels: {app: web}
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"password":"` + hidden["applied"] + `"}'
    example.com/token: ` + hidden["note"] + `
spec:
  nodeName: node-a
  containers:
  - name: main
    image: example.com/` + hidden["image"] + `
    args: ["--password=` + hidden["argument"] + `"]
    env: [{name: PASSWORD, value: ` + hidden["env"] + `}, {name: TOKEN, valueFrom: {secretKeyRef: {name: token, key: token}}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: secretive
  namespace: team-0
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"password":"` + hidden["applied"] + `"}'
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}], ports: [{port: nowhere}]}]}
---
apiVersion: v1
kind: Service
metadata:
  name: secretive
  namespace: team-0
  annotations: {example.com/token: ` + hidden["note"] + `}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// TestDrillSecrets has secrets in objects and in netloom's own token, at the most verbose log level, and searches everything that comes
// out: the log, all pages, metrics, Events, PolicyStatuses, and the rows of the database.
func TestDrillSecrets(t *testing.T) {
	t.Parallel()
	d := newDrill(t, "log-level: trace\n", "feedback")
	definition, err := os.ReadFile(root + "/deploy/crds/netloom.io_policystatuses.yaml")
	require.NoError(t, err)
	d.kube.Apply(string(definition))
	d.kube.Apply(secretive)
	d.denied(isolating(1, "free"), toPod(1, freePod))
	await.True(t, func() bool { return d.reasonOf("team-0", "secretive") != "" }, "the PolicyStatus")

	token := d.kube.Token(home, "netloom")
	secrets := map[string]string{"token of a service account": token[strings.LastIndex(token, ".")+1:]}
	for where, s := range hidden {
		secrets[where], secrets[where+", in base64"] = s, strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(s)), "=")
	}
	for where, text := range d.outputs() {
		require.NotEmpty(t, text, where)
		for of, s := range secrets {
			require.NotContains(t, text, s, "%s shows the secret in: %s", where, of)
		}
	}
	reportDrill(t, d.netloom.PID(), "secrets are in annotations, environments, arguments and Secrets, at `log-level: trace`", "–", "–",
		"no secret in the log, on any page, in metrics, Events, PolicyStatuses or rows")
}

// outputs is everything that netloom says, by where.
func (d *drill) outputs() map[string]string {
	d.t.Helper()
	out := map[string]string{"log": d.netloom.Log()}
	for _, path := range []string{"/readyz", "/metrics", "/debug/ready", "/debug/manifests", "/debug/snapshot", "/debug/plan", "/debug/approve"} {
		text, err := d.netloom.Get(path)
		require.NoError(d.t, err, path)
		out[path] = text
	}
	problems, err := d.netloom.Get("/debug/problems")
	require.NoError(d.t, err)
	out["/debug/problems"] = "problems: " + problems
	for _, r := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "events"},
		v1alpha1.GroupVersion.WithResource(v1alpha1.PluralPolicyStatus),
		{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	} {
		list, err := d.kube.Objects().Resource(r).List(d.t.Context(), metav1.ListOptions{})
		require.NoError(d.t, err)
		raw, err := json.Marshal(list)
		require.NoError(d.t, err)
		out[r.Resource] = string(raw)
	}
	wire, err := ovsdbtest.DialRaw(d.t.Context(), d.witness.database, "OVN_Northbound")
	require.NoError(d.t, err)
	defer func() { _ = wire.Close() }()
	for _, table := range []string{"ACL", "Address_Set", "Port_Group", "Load_Balancer", "NB_Global"} {
		rows, err := wire.Select(table, []libovsdb.Condition{})
		require.NoError(d.t, err)
		raw, err := json.Marshal(rows)
		require.NoError(d.t, err)
		out[table] = string(raw)
	}
	return out
}
