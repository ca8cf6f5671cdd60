package live_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/answers/flows"
	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/serve/web"
	"github.com/netloom/netloom/pkg/serve/web/live"
	"github.com/netloom/netloom/test/policygen"
	"github.com/netloom/netloom/test/seeds"
	"github.com/netloom/netloom/translator"
)

// cluster is the state of a netloom without targets.
type cluster struct {
	tr      *translator.Translator
	objects map[object.Ref]runtime.Object
	page    *live.Page
}

func (c *cluster) Object(ref object.Ref) (runtime.Object, bool) {
	o, ok := c.objects[ref]
	return o, ok
}
func (c *cluster) Targets() []live.Target     { return nil }
func (c *cluster) Views() []web.View          { return nil }
func (c *cluster) LookBeyond(context.Context) {}
func (c *cluster) ReadRows(context.Context, string, object.Ref) ([]backends.Row, error) {
	return nil, nil
}

// put publishes a state with further objects.
func (c *cluster) put(t *testing.T, objects ...runtime.Object) {
	t.Helper()
	var refs []object.Ref
	for _, o := range objects {
		require.NoError(t, c.tr.Put(o))
		named, ok := o.(metav1.Object)
		require.True(t, ok)
		kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")
		ref := object.Ref{Kind: kind, Namespace: named.GetNamespace(), Name: named.GetName()}
		c.objects[ref] = o
		refs = append(refs, ref)
	}
	c.page.Published(pipeline.Published{Snapshot: c.tr.Snapshot(), View: c.tr.View(), Events: refs})
}

func newCluster(logs ...string) *cluster {
	c := &cluster{tr: translator.New(translator.Options{}), objects: map[object.Ref]runtime.Object{}}
	c.page = live.New(live.Options{State: c, Logs: live.Logs{Paths: logs, Rules: ovn.LogNames}})
	return c
}

func pod(name, addr string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": name}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: addr, PodIPs: []corev1.PodIP{{IP: addr}}},
	}
}

// deny isolates a pod.
func deny(name string) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		},
	}
}

// line is about a packet that the isolation of shop/db drops.
func line(at time.Time, from string) string {
	return acllogtest.Line(at, "shop/db ingress", acllog.Drop, from, "10.0.0.2", 5432)
}

// TestALogIsShownAsFlowsOfTheStateAtThatTime follows a log that does not exist at first, while pods come and go.
func TestALogIsShownAsFlowsOfTheStateAtThatTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, other := filepath.Join(t.TempDir(), "ovn-controller.log"), t.TempDir()
		c := newCluster(path, other)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.page.Follow(ctx, quiet()) }()
		pass := func() web.FlowLog {
			time.Sleep(2 * time.Second) // longer than a log is left alone
			synctest.Wait()
			return c.page.Flows()
		}
		logs := pass().Logs
		require.Equal(t, web.LogFile{Path: path, Error: "there is no such file yet"}, logs[0])
		require.Contains(t, logs[1].Error, "is a directory")

		c.put(t, pod("web", "10.0.0.1"), pod("db", "10.0.0.2"), deny("db"))
		acllogtest.Append(t, path, line(time.Now(), "10.0.0.1"))
		first := pass()
		require.Empty(t, first.Logs[0].Error)
		require.Len(t, first.Flows, 1)
		require.Equal(t, "shop/web", first.Flows[0].From)
		require.Equal(t, "NetworkPolicy/shop/db", first.Flows[0].Policy)
		require.Equal(t, flows.Isolation, first.Flows[0].Rule)

		c.put(t, pod("web", "10.0.0.9"), pod("batch", "10.0.0.1"))
		acllogtest.Append(t, path, line(time.Now(), "10.0.0.1")+"nonsense\n"+line(time.Now(), "10.0.0.9"))
		require.Equal(t, map[string]uint64{"shop/web": 2, "shop/batch": 1}, bySource(pass()))
		time.Sleep(2 * time.Hour)
		require.Empty(t, c.page.Flows().Flows, "the last hour only")
		stop()
		<-done
	})
}

// TestStagedPoliciesAreTriedOnALog follows a log while a policy is staged, enforced, and staged again.
func TestStagedPoliciesAreTriedOnALog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ovn-controller.log")
		var told []string
		c := &cluster{tr: translator.New(translator.Options{}), objects: map[object.Ref]runtime.Object{}}
		c.page = live.New(live.Options{State: c, Logs: live.Logs{
			Paths: []string{path}, Rules: ovn.LogNames,
			Differs: func(d flows.Difference, tried flows.Tried) {
				told = append(told, d.Policy+": "+d.Text()+"; "+tried.Summary())
			},
		}})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.page.Follow(ctx, quiet()) }()
		pass := func() {
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
		seen := func() string {
			return acllogtest.Line(time.Now(), ovn.StagedLogName(intent.Ingress), acllog.Pass, "10.0.0.1", "10.0.0.2", 5432)
		}
		staged, enforced := deny("db"), deny("db")
		staged.Annotations = map[string]string{object.EnforcementAnnotation: object.EnforcementStaged}
		c.put(t, pod("web", "10.0.0.1"), pod("db", "10.0.0.2"), staged)
		pass()
		acllogtest.Append(t, path, seen()+seen())
		pass()
		require.Equal(t, []string{
			"NetworkPolicy/shop/db: shop/web -> shop/db tcp/5432 would be denied for ingress, by default deny; 1 connection, 1 flow would be denied",
		}, told)
		require.Len(t, c.page.Flows().Staged, 1)
		require.EqualValues(t, 2, c.page.Flows().Staged[0].Connections)
		require.Empty(t, c.page.Flows().Flows, "nothing decided")
		c.put(t, enforced)
		pass()
		acllogtest.Append(t, path, seen())
		pass()
		require.Len(t, told, 1)
		require.Empty(t, c.page.Flows().Staged)
		stop()
		<-done
	})
}

func bySource(log web.FlowLog) map[string]uint64 {
	out := map[string]uint64{}
	for i := range log.Flows {
		out[log.Flows[i].From] += log.Flows[i].Count
	}
	return out
}

func quiet() logrus.FieldLogger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// TestLinesOfEveryNodeHaveTheNamesOfTheCluster compares the names of ACLs where each node has its own database with those of the whole
// cluster, by which lines of any node are attributed.
func TestLinesOfEveryNodeHaveTheNamesOfTheCluster(t *testing.T) {
	names := func(objects []runtime.Object, node string) map[string][]intent.RuleRef {
		tr := translator.New(translator.Options{Node: node})
		for _, o := range objects {
			require.NoError(t, tr.Put(o))
		}
		return ovn.LogNames(tr.Snapshot())
	}
	compared := 0
	seeds.Each(t, "livenames", func(t *testing.T, seed uint64) {
		c := policygen.Generate(seed, policygen.Size{Cluster: 4})
		objects := policygen.Objects(c)
		cluster := names(objects, "")
		for _, node := range c.Nodes {
			for name, rules := range names(objects, node.Name) {
				if len(rules) == 0 {
					require.Contains(t, cluster, name) // it only observes
					continue
				}
				require.NotEmpty(t, cluster[name], "seed %d: node %s logs %q", seed, node.Name, name)
				compared += len(rules)
			}
		}
	})
	if seeds.All() {
		require.Greater(t, compared, 100)
	}
}
