package daemon_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/tungsten"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
	simulator "github.com/netloom/netloom/pkg/simulator/tungsten"
	api "github.com/netloom/netloom/pkg/tungsten"
)

// shopWithPolicy is a namespace with two pods and a policy.
func shopWithPolicy() *pipelinetest.Source {
	source := pipelinetest.New()
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), pipelinetest.Pod("db-0", "db", "n2", "10.0.0.2"),
		pipelinetest.Policy("db", "web", "db"))
	source.Sync()
	return source
}

// ready reports whether the daemon is ready.
func (r *running) ready() bool {
	code, _ := r.get("/readyz")
	return code == http.StatusOK
}

// tagged counts the interfaces with a tag of the owner.
func tagged(s *simulator.Server, owner string) int {
	n := 0
	for _, o := range s.Objects("virtual-machine-interface") {
		if strings.Contains(string(o), "netloom."+owner+".") {
			n++
		}
	}
	return n
}

func TestAControllerIsKeptInSyncBesideADatabase(t *testing.T) {
	source := shopWithPolicy()
	opts := embeddedOptions(source)
	opts.Target.Tungsten = tungsten.Settings{Servers: []string{tungsten.Embedded}, ClusterName: "k8s"}
	r := start(t, opts)
	r.await("both targets to be in sync", r.ready)
	require.NotEmpty(t, r.names("ACL"))
	controller := r.ControllerURLs()[0]
	count := func(kind string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, controller+"/"+kind+"s?count=true", nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }() // it was read
		var out map[string]struct {
			Count int `json:"count"`
		}
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&out))
		return fmt.Sprint(out[kind+"s"].Count)
	}
	require.Equal(t, "2", count("virtual-machine-interface"))
	require.NotEqual(t, "0", count("firewall-rule"))
	source.Remove(pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"))
	r.await("one interface", func() bool { return count("virtual-machine-interface") == "1" })
	source.Put(pipelinetest.Pod("web-1", "web", "n1", "10.0.0.3"))
	r.await("two interfaces", func() bool { return count("virtual-machine-interface") == "2" })
}

// addPod gives a pod an interface, as kube-manager does.
func addPod(t *testing.T, s *simulator.Server, name, addr string) simulator.Pod {
	t.Helper()
	pod := simulator.Pod{Cluster: "k8s", Namespace: "shop", Name: name, UID: uuid.NewString(), Addrs: []netip.Addr{netip.MustParseAddr(addr)}}
	require.NoError(t, s.AddPod(pod))
	return pod
}

func TestAControllerIsRepairedAndARestartWritesNothing(t *testing.T) {
	s := simulator.New(simulator.Options{User: "admin", Password: "secret", Keystone: true})
	defer s.Close()
	url, err := s.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("secret\n"), 0o600))
	addPod(t, s, "web-0", "10.0.0.1")
	opts := daemon.Options{
		Source: shopWithPolicy(), Reconcile: reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour},
		Target: builtin.Settings{Owner: "netloom", Tungsten: tungsten.Settings{
			Servers: []string{"http://127.0.0.1:1", url}, ClusterName: "k8s", User: "admin", PasswordFile: password, Keystone: url + "/v3",
		}},
	}
	r := start(t, opts)
	r.await("the interface that is there", func() bool { return tagged(s, "netloom") == 1 })
	addPod(t, s, "db-0", "10.0.0.2")
	r.await("the interface that appears later", func() bool { return tagged(s, "netloom") == 2 })
	r.stop()

	restart := func() (writes int) {
		before := s.Stats().Writes
		opts.Source = shopWithPolicy()
		r := start(t, opts)
		r.await("the target to be in sync", r.ready)
		r.stop()
		return s.Stats().Writes - before
	}
	restart() // it writes what the stop cut off
	require.Zero(t, restart(), "a restart only reads")

	var rule struct{ UUID string }
	require.NoError(t, json.Unmarshal(s.Objects("firewall-rule")[0], &rule))
	require.True(t, s.Vanish(rule.UUID))
	rules := len(s.Objects("firewall-rule"))
	opts.Source = shopWithPolicy()
	r = start(t, opts)
	r.await("the rule", func() bool { return len(s.Objects("firewall-rule")) == rules+1 })
	r.await("the target to be in sync", r.ready)
	r.stop()
}

// TestAControllerThatDiesIsOutOfSync kills the only server of a controller that is in sync, while nothing has to be written to it.
func TestAControllerThatDiesIsOutOfSync(t *testing.T) {
	s := simulator.New(simulator.Options{})
	url, err := s.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	addPod(t, s, "web-0", "10.0.0.1")
	r := start(t, daemon.Options{
		Source: shopWithPolicy(), Reconcile: reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour},
		Target: builtin.Settings{Owner: "netloom", Tungsten: tungsten.Settings{Servers: []string{url}, ClusterName: "k8s"}},
	})
	r.await("the target to be in sync", func() bool { return r.ready() && tagged(s, "netloom") == 1 })
	r.await("the stream to be heard", func() bool {
		return r.metric(`netloom_view_confirmed_timestamp_seconds{cluster="",resource="target tungsten"}`) > 0
	})
	require.InDelta(t, 1, r.metric("netloom_target_up"), 0)
	s.Close()
	r.await("the target to be out of sync", func() bool { return r.metric("netloom_target_up") == 0 })
	r.await("the line of readyz", func() bool { return degraded(t, r, "tungsten is out of sync") })
}

// degraded reports whether /readyz is ok and says that something is degraded.
func degraded(t *testing.T, r *running, what string) bool {
	t.Helper()
	code, text := r.get("/readyz")
	return code == http.StatusOK && strings.Contains(text, "degraded: "+what)
}

// TestAControllerIsWatched has somebody edit a rule: it is repaired at once. Then the controller answers but shows no changes: the target
// is out of sync until it does, and then an edit of the meantime is repaired.
func TestAControllerIsWatched(t *testing.T) {
	s := simulator.New(simulator.Options{})
	defer s.Close()
	url, err := s.Start(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	addPod(t, s, "web-0", "10.0.0.1")
	r := start(t, daemon.Options{
		Source: shopWithPolicy(), Reconcile: reconcile.Options{MaxDeleteFraction: 1, MaxInterval: time.Hour},
		Target: builtin.Settings{Owner: "netloom", Tungsten: tungsten.Settings{Servers: []string{url}, ClusterName: "k8s"}},
	})
	r.await("the target to be in sync", func() bool { return r.ready() && tagged(s, "netloom") == 1 })
	r.await("the stream to be heard", func() bool {
		return r.metric(`netloom_view_confirmed_timestamp_seconds{cluster="",resource="target tungsten"}`) > 0
	})
	client, err := api.New(api.Options{URLs: []string{url}})
	require.NoError(t, err)
	defer client.Close()
	edit := func() {
		all, err := client.List(t.Context(), api.KindFirewallRule, api.Query{Detail: true})
		require.NoError(t, err)
		for _, o := range all {
			if o.ActionList.SimpleAction == "deny" {
				require.NoError(t, client.Update(t.Context(), o.Kind, o.UUID, api.Fields{"action_list": []byte(`{"simple_action":"pass"}`)}))
				return
			}
		}
		require.Fail(t, "nothing denies")
	}
	whole := func() bool {
		n := 0
		for _, raw := range s.Objects("firewall-rule") {
			n += strings.Count(string(raw), `"deny"`)
		}
		return n >= 2
	}
	require.True(t, whole())
	edit()
	r.await("the repair", whole)
	r.await("that it is counted", func() bool { return r.metric("netloom_drift_found_total") > 0 })

	s.Inject(func(c simulator.Call) simulator.Fault {
		if c.Path == "/watch" {
			return simulator.Unavailable
		}
		return simulator.NoFault
	})
	s.Drop()
	r.await("the target to be out of sync", func() bool {
		return r.metric("netloom_target_up") == 0 && degraded(t, r, "tungsten is out of sync: changes of tungsten by others cannot be seen")
	})
	edit()
	s.Inject(nil)
	r.await("the repair of what was not seen", whole)
	r.await("the target to be in sync", func() bool { return r.metric("netloom_target_up") == 1 })
}
