package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
)

// embeddedOptions are those of a daemon that brings its own database.
func embeddedOptions(source *pipelinetest.Source) daemon.Options {
	return daemon.Options{
		Source: source,
		Target: builtin.Settings{Owner: "netloom", OVN: ovn.Settings{
			Endpoints: []string{ovn.Embedded}, PortNames: "ovn-kubernetes",
		}},
		Reconcile: reconcile.Options{MaxDeleteFraction: 1},
	}
}

// names lists the names of a table's rows in the daemon's database, sorted.
func (r *running) names(table string) []string {
	r.t.Helper()
	raw, err := ovsdbtest.DialRaw(r.t.Context(), r.DatabaseAddress()[0], "OVN_Northbound")
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, raw.Close()) }()
	rows, err := raw.Select(table, nil, "name")
	require.NoError(r.t, err)
	var names []string
	for _, row := range rows {
		name, _ := row["name"].(string)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// awaitPorts waits until the database has just these logical ports.
func (r *running) awaitPorts(want ...string) {
	r.t.Helper()
	r.await("ports "+strings.Join(want, ", "), func() bool { return slices.Equal(r.names("Logical_Switch_Port"), want) })
}

func TestPodsGetPortsInAnEmbeddedDatabase(t *testing.T) {
	source := pipelinetest.New()
	host := pipelinetest.Pod("host-0", "host", "n1", "192.0.2.1")
	host.Spec.HostNetwork = true
	source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"), host, pipelinetest.Policy("db", "web", "db"))
	r := start(t, embeddedOptions(source))
	r.await("the source to be drained", func() bool { return len(source.Dirty()) == 0 })
	source.Put(pipelinetest.Pod("db-0", "db", "n2", "10.0.0.2"))
	source.Sync()
	r.awaitPorts("shop_db-0", "shop_web-0")
	require.Equal(t, []string{"n1", "n2"}, r.names("Logical_Switch"))
	r.await("the group of the policy", func() bool { return len(r.names("Port_Group")) == 2 })

	moved, waiting := pipelinetest.Pod("web-0", "web", "n3", "10.0.0.1"), pipelinetest.Pod("new-0", "web", "", "10.0.0.4")
	source.Put(moved, waiting)
	r.await("the switches", func() bool {
		return slices.Equal(r.names("Logical_Switch"), []string{"n1", "n2", "n3", "unscheduled"})
	})
	r.awaitPorts("shop_db-0", "shop_new-0", "shop_web-0")
	source.Remove(moved, waiting)
	r.awaitPorts("shop_db-0")
	source.Put(pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1"))
	r.awaitPorts("shop_db-0", "shop_web-0")
}

func TestPodsGetPortsOfEveryNameTheyAreLookedForBy(t *testing.T) {
	source := pipelinetest.New()
	opts := embeddedOptions(source)
	opts.Cluster = "east"
	opts.Target.OVN.PortNames = "{cluster}_{namespace}_{pod},kube-ovn,{pod}.{namespace}"
	web := pipelinetest.Pod("web-0", "web", "n1", "10.0.0.1")
	source.Put(pipelinetest.Namespace("shop"), web, pipelinetest.Policy("web", "web", "web"))
	source.Sync()
	r := start(t, opts)
	r.awaitPorts("east_shop_web-0", "web-0.shop")
	source.Put(pipelinetest.Pod("web-0", "web", "n2", "10.0.0.1"))
	r.await("the other switch", func() bool { return slices.Equal(r.names("Logical_Switch"), []string{"n1", "n2"}) })
	r.awaitPorts("east_shop_web-0", "web-0.shop")
	source.Remove(web)
	r.awaitPorts()
}

func TestAnEmbeddedDatabaseGoesWithItsDaemon(t *testing.T) {
	source := pipelinetest.New()
	d, err := daemon.New(embeddedOptions(source), testLog(t))
	require.NoError(t, err)
	socket := strings.TrimPrefix(d.DatabaseAddress()[0], "unix:")
	require.FileExists(t, socket)
	d.Close()
	require.NoDirExists(t, filepath.Dir(socket))
}

func TestEmbeddedNeedsATemplateForItsPortNames(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for names, want := range map[string]string{
		"external-ids:pod": `port names "external-ids:pod": the embedded database names its ports by a template`,
		"{what}":           "{what}",
	} {
		opts := embeddedOptions(pipelinetest.New())
		opts.Target.OVN.PortNames = names
		_, err := daemon.New(opts, testLog(t))
		require.ErrorContains(t, err, want)
	}
	opts := embeddedOptions(pipelinetest.New())
	opts.Target.Owner = "Not An Owner"
	_, err := daemon.New(opts, testLog(t))
	require.Error(t, err)
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "what was started is ended")
}

func TestNoEmbeddedDatabaseWhereOneIsNamed(t *testing.T) {
	p := newSilentPlace(t)
	d, err := daemon.New(p.options(), testLog(t))
	require.NoError(t, err)
	defer d.Close()
	require.Equal(t, []string{p.socket}, d.DatabaseAddress())
	_, found := d.Object(pipelinetest.RefOf(&corev1.Node{}))
	require.False(t, found)
}
