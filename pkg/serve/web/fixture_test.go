package web_test

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/translator"
)

var update = flag.Bool("update", false, "rewrite what the golden tests want")

// moment is when everything happened.
var moment = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// source is a Source that shows what it is given.
type source struct {
	state   web.State
	targets []web.Target
	rows    []web.TargetRows
	flows   web.FlowLog
}

func (s *source) Newest() (web.State, bool) { return s.state, s.state.Number > 0 }

func (s *source) Targets() []web.Target { return append([]web.Target(nil), s.targets...) }

func (s *source) Views() []web.View {
	return []web.View{{Name: "networkpolicies", Confirmed: moment}, {Name: "pods", Late: true, Fault: "no answer"}}
}

func (s *source) Rows(_ context.Context, kind, namespace, name string) []web.TargetRows {
	if kind+"/"+namespace+"/"+name == "NetworkPolicy/shop/db" {
		return s.rows
	}
	return nil
}

func (s *source) Flows() web.FlowLog { return s.flows }

func (s *source) Coverage(_, name string) []web.PodCoverage {
	if name == "db-0" {
		return []web.PodCoverage{{Target: "ovn", Known: true, Lacks: "logical port shop_db-0"}}
	}
	return []web.PodCoverage{{Target: "ovn", Known: true, Found: true}}
}

// stateOf returns the state of objects.
func stateOf(t testing.TB, objects []runtime.Object) world.State {
	t.Helper()
	tr := translator.New(translator.Options{})
	state := world.State{}
	for _, object := range objects {
		require.NoError(t, tr.Put(object))
		state.Objects.Add(object)
	}
	state.Snapshot, state.View = tr.Snapshot(), tr.View()
	state.Problems = tr.Problems()
	return state
}

// shop is the state of testdata/shop.yaml, with a target in sync.
func shop(t testing.TB) *source {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.yaml")
	require.NoError(t, err)
	log := logrus.New()
	log.SetOutput(t.Output())
	manifests := manifest.Load("shop.yaml", text, manifest.Options{}, log)
	var objects []runtime.Object
	for _, ref := range manifests.Refs() {
		object, ok := manifests.Get(ref)
		require.True(t, ok)
		objects = append(objects, object)
	}
	state := stateOf(t, objects)
	var further []runtime.Object
	for _, o := range objects {
		if _, ok := o.(*corev1.Namespace); ok {
			further = append(further, o)
		}
	}
	state.Problems = append(state.Problems, manifests.Problems()...)
	up := true
	plan := &web.Plan{
		At: moment, Revision: 1, Full: true, Summary: "1 operation in 1 transaction: create ACL ×1", Planned: 1.5, Applied: 2.25,
		Ops: []web.Op{{Verb: "create", Kind: "ACL", Name: "shop/db ingress[0]", Origin: "NetworkPolicy/shop/db spec.ingress[0]"}},
	}
	return &source{
		state: web.State{State: state, Number: 3, At: moment, Further: further},
		targets: []web.Target{{
			Name: "ovn", Health: web.InSync, Up: &up, Revision: 1, Wanted: 1, Owned: 9, LastConverged: moment, LastPlan: plan,
			Coverage:  &web.Coverage{Selected: 3, Enforced: 2, Faults: []string{"1 of 3 selected pods is NOT protected: shop/db-0 (no logical port shop_db-0)"}},
			LastWrite: plan, Latency: 4, Writes: 1, Skips: []web.Skip{{Intent: "NetworkPolicy/shop/db/ingress", Reason: "no SCTP here"}},
		}},
		rows: []web.TargetRows{{Target: "ovn", Counts: map[string]int{"ACL": 1}, Rows: []web.Row{{
			Table: "ACL", UUID: "u", Rule: "ingress[0]", Text: "outport == @a && ip4", Action: "to-lport 1002 allow-related",
		}}}},
	}
}

// server is a handler to ask.
type server struct {
	*web.Handler
	feed *web.Feed
}

func serve(s web.Source) *server {
	feed := web.NewFeed(moment)
	return &server{web.New(web.Options{Source: s, Feed: feed}), feed}
}

// get asks for a path; headers are pairs of names and values.
func (s *server) get(t testing.TB, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return s.ask(t, http.MethodGet, path, headers...)
}

func (s *server) ask(t testing.TB, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return s.send(t, method, path, "", headers...)
}

// post sends a text.
func (s *server) post(t testing.TB, path, text string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	return s.send(t, http.MethodPost, path, text, headers...)
}

func (s *server) send(t testing.TB, method, path, text string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(text))
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}
