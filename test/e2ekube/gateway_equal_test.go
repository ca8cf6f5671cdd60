//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2e/ovnlab"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
)

// leg is one way to the API server. Each has a namespace of its own for what it writes; the names are equally long.
type leg struct {
	name      string
	namespace string
	config    *rest.Config // of the administrator
	metrics   string       // URL of the gateway's, empty without one
	http      http.RoundTripper
	anonymous http.RoundTripper // without the administrator's certificate
	client    kubernetes.Interface
}

// equal compares the answers of an API server with those through a gateway, and through one with shared watches.
type equal struct {
	t    *testing.T
	kube *kubelab.Lab
	legs []*leg // the first is direct
	rows []*equalRow
	web  string // the token of a service account without permissions
}

// equalRow is a line of the table in docs/gateway.md.
type equalRow struct {
	what    string
	answers int   // compared
	differ  []int // of them, by leg
	shared  int   // answered from shared watches
}

// TestGatewayAnswersEqual sends the same requests to an API server, through netloom gateway, and through one with shared watches,
// and requires the same answers: status, headers, and bodies byte by byte. It prints the table of docs/gateway.md.
func TestGatewayAnswersEqual(t *testing.T) {
	t.Parallel()
	e := newEqual(t)
	e.prepare()
	e.section("Discovery, OpenAPI v2 and v3, health, version", e.discovery)
	e.section("Objects and lists as JSON, YAML, protobuf, CBOR, Table and metadata only", e.representations)
	e.section("Lists: versions, limits, pages, selectors, faulty parameters", e.lists)
	e.section("Writes: create, update, apply, patch types, subresources, dry runs, deletion, faults", e.writes)
	e.section("Who is refused: 401, 403, `Warning`", e.refusals)
	e.section("Watches: events and bookmarks", e.watches)
	e.section("Events in order, deletions in steps, and own writes read, with 51 writers at once", e.order)
	e.section("exec, attach, port-forward, logs, by SPDY and websocket", e.streams)
	// The last: it restarts the API server without a past. Shared watches meet 410 then, each as soon as it tries again, and end theirs with it.
	e.section("Clients of client-go: reflectors and informers with 410, WatchList, pages, leader election", e.clients)
	e.print() // each answer that differs has failed the test
}

// newEqual starts an API server, and both gateways with more flags.
func newEqual(t *testing.T, flags ...string) *equal {
	t.Helper()
	kube := startKube(t, "CBORServingAndStorage=true")
	plain := newGatewayRig(t, map[string]*kubelab.Lab{"a.example": kube}, "  dispatchPolicies: ["+everyRequest+"]\n")
	shared := *plain
	e := &equal{t: t, kube: kube, web: kube.Token("gateway", "web")}
	e.add("direct", kube.Config(), "")
	for name, rig := range map[string]*gatewayRig{"gateway": plain, "shared": &shared} {
		observed := ovnlab.FreeAddress(t)
		rig.start(append(flags, "--metrics-listen="+observed, fmt.Sprintf("--shared-watches=%t", name == "shared"))...)
		config := kube.Config()
		config.Host = fmt.Sprintf("https://localhost:%d", rig.port)
		e.add(name, config, "http://"+observed+"/metrics")
	}
	slices.SortFunc(e.legs, func(a, b *leg) int { return strings.Compare(a.name, b.name) }) // direct, gateway, shared
	for i, l := range e.legs {
		l.namespace = fmt.Sprintf("equal-%d", i)
	}
	return e
}

func (e *equal) add(name string, config *rest.Config, metrics string) {
	e.t.Helper()
	through, err := rest.TransportFor(config)
	require.NoError(e.t, err)
	anonymous, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	require.NoError(e.t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(e.t, err)
	e.legs = append(e.legs, &leg{name: name, config: config, metrics: metrics, http: through, anonymous: anonymous, client: client})
}

// prepare makes the namespaces, and in "fixed" what all legs read.
func (e *equal) prepare() {
	e.t.Helper()
	for _, name := range []string{"fixed", e.legs[0].namespace, e.legs[1].namespace, e.legs[2].namespace} {
		e.kube.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
		await.True(e.t, func() bool {
			_, err := e.kube.Client().CoreV1().ServiceAccounts(name).Get(e.t.Context(), "default", metav1.GetOptions{})
			return err == nil
		}, "pods may be created")
	}
	for i, name := range []string{"a", "b", "b-c", "c", "d<&>"} {
		app := []string{"web", "db"}[i%2]
		if strings.Contains(name, "<") { // characters that JSON may escape
			e.kube.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: odd, namespace: fixed}, data: {x: 'ü <&> \u2028'}}")
			continue
		}
		e.kube.Apply(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %q, namespace: fixed, labels: {app: %s}, annotations: {x: "ü <&>\u2028\t"}},
  spec: {nodeName: n%d, containers: [{name: c, image: i}]}}`, name, app, i%2))
	}
	e.kube.Apply("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: fixed}, spec: {ports: [{port: 80}]}}")
	e.kube.Apply("{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: policy, namespace: fixed}, spec: {podSelector: {}}}")
}

// pods are those of "fixed".
func (e *equal) pods() *corev1.PodList {
	e.t.Helper()
	list, err := e.kube.Client().CoreV1().Pods("fixed").List(e.t.Context(), metav1.ListOptions{})
	require.NoError(e.t, err)
	return list
}

// section compares some answers, and adds a line to the table.
func (e *equal) section(what string, compare func()) {
	e.t.Helper()
	e.rows = append(e.rows, &equalRow{what: what, differ: make([]int, len(e.legs))})
	before := e.sharedRequests()
	compare()
	e.row().shared = e.sharedRequests() - before
}

func (e *equal) row() *equalRow { return e.rows[len(e.rows)-1] }

// sharedRequests is how many requests were answered from shared watches.
func (e *equal) sharedRequests() int {
	e.t.Helper()
	text := get(e.t, e.legs[2].metrics)
	n := 0.0
	for _, answer := range []string{"list", "watch"} {
		n += sample(text, "netloom_gateway_shared_requests_total", `answer="`+answer+`"`)
	}
	return int(n)
}

func (e *equal) print() {
	e.t.Helper()
	var out strings.Builder
	total := &equalRow{what: "**together**", differ: make([]int, len(e.legs))}
	line := func(r *equalRow) {
		_, _ = fmt.Fprintf(&out, "| %s | %d | %d | %d | %d |\n", r.what, r.answers, r.answers-r.differ[1], r.answers-r.differ[2], r.shared)
	}
	for _, r := range e.rows {
		line(r)
		total.answers, total.shared = total.answers+r.answers, total.shared+r.shared
		for i := range e.legs {
			total.differ[i] += r.differ[i]
		}
	}
	line(total)
	e.t.Logf("\n| | answers | equal: gateway | with shared watches | answered from them |\n|---|---|---|---|---|\n%s", out.String())
}
