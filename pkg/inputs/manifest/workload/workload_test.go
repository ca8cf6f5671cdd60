package workload_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/netloom/netloom/pkg/inputs/manifest/workload"
)

const template = `"template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "ports": [{"name": "http", "containerPort": 80}]}]}}`

func TestPodsOfWorkloads(t *testing.T) {
	for _, tc := range []struct {
		name, kind, group, spec string
		want                    []string
	}{
		{"a number that is not given", workload.Deployment, "apps", `{` + template + `}`, []string{"deploy/web", "deploy/web+1"}},
		{"one", workload.Deployment, "apps", `{"replicas": 1, ` + template + `}`, []string{"deploy/web"}},
		{"none", workload.Deployment, "apps", `{"replicas": 0, ` + template + `}`, nil},
		{"a million", workload.Deployment, "apps", `{"replicas": 1000000, ` + template + `}`, []string{"deploy/web", "deploy/web+1"}},
		{"fewer than none", workload.ReplicaSet, "apps", `{"replicas": -5, ` + template + `}`, nil},
		{"ordinals", workload.StatefulSet, "apps", `{"replicas": 3, ` + template + `}`, []string{"sts/web-0", "sts/web-1"}},
		{"one for each node", workload.DaemonSet, "apps", `{` + template + `}`, []string{"ds/web", "ds/web+1"}},
		{"a job", workload.Job, "batch", `{` + template + `}`, []string{"job/web"}},
		{"a parallel job", workload.Job, "batch", `{"parallelism": 9, ` + template + `}`, []string{"job/web", "job/web+1"}},
		{"a cron job", workload.CronJob, "batch", `{"jobTemplate": {"spec": {` + template + `}}}`, []string{"cj/web"}},
		{"a rollout", workload.Rollout, "argoproj.io", `{"replicas": 5, ` + template + `}`, []string{"rollout/web", "rollout/web+1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.True(t, workload.Is(schema.GroupVersion{Group: tc.group, Version: "v1"}, tc.kind))
			require.False(t, workload.Is(schema.GroupVersion{Group: "example.org", Version: "v1"}, tc.kind))
			w, err := workload.Parse(tc.kind, "shop", json.RawMessage(`{"metadata": {"name": "web"}, "spec": `+tc.spec+`}`))
			require.NoError(t, err)
			var names []string
			for _, p := range w.StandIns() {
				names = append(names, p.Name)
				require.Equal(t, "shop", p.Namespace)
				require.Equal(t, "web", p.Labels["app"])
				require.Equal(t, int32(80), p.Spec.Containers[0].Ports[0].ContainerPort)
			}
			require.Equal(t, tc.want, names)
		})
	}
}

func TestWorkloadsThatAServerRejects(t *testing.T) {
	for _, tc := range []struct{ name, object, want string }{
		{"no name", `{"spec": {` + template + `}}`, "metadata.name: Required value"},
		{"another selector", `{"metadata": {"name": "a"}, "spec": {"selector": {"matchLabels": {"app": "db"}}, ` + template + `}}`, "does not match"},
		{"a selector that is none", `{"metadata": {"name": "a"}, "spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}, ` + template + `}}`, "spec.selector"},
		{"labels that are none", `{"metadata": {"name": "a"}, "spec": {"template": {"metadata": {"labels": {"a": "b c"}}}}}`, "spec.template.metadata.labels"},
		{"a number that is none", `{"metadata": {"name": "a"}, "spec": {"replicas": "many"}}`, "replicas"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := workload.Parse(workload.Deployment, "shop", json.RawMessage(tc.object))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestAddressesAreStableAndDistinct(t *testing.T) {
	var a, b workload.Addresses
	first := a.Addr("pod/shop/web", true)
	seen := map[netip.Addr]bool{first: true}
	for i := range 20_000 {
		next := a.Addr(fmt.Sprintf("pod/shop/web-%d", i), true)
		require.False(t, seen[next], "%s is given twice", next)
		require.True(t, netip.MustParsePrefix("10.128.0.0/9").Contains(next))
		seen[next] = true
	}
	b.Addr("pod/other/one", true)
	require.Equal(t, first, b.Addr("pod/shop/web", true), "what else there is does not matter")
	require.True(t, b.MadeUp(first))
	b.Taken = func(x netip.Addr) bool { return x == first }
	require.NotEqual(t, first, b.Addr("pod/shop/web", true), "a real one is not made up")
	require.True(t, netip.MustParsePrefix("fd6e:6c00::/32").Contains(b.Addr("pod/shop/web", false)))
}

func TestSlicesOfAService(t *testing.T) {
	pod := func(name string, port int32, phase corev1.PodPhase, ips ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase}}
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}}}}
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		return p
	}
	s := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{
		{Name: "web", Port: 80, TargetPort: intstr.FromString("http")}, {Name: "other", Port: 81, TargetPort: intstr.FromString("none")},
	}}}
	got := workload.Slices(s, []*corev1.Pod{
		pod("a", 8080, corev1.PodRunning, "10.0.0.1", "fd00::1"), pod("b", 9090, corev1.PodRunning, "10.0.0.2"),
		pod("c", 8080, corev1.PodRunning, "10.0.0.3"), pod("done", 8080, corev1.PodSucceeded, "10.0.0.4"), pod("new", 8080, corev1.PodPending),
	})
	var text []string
	for _, slice := range got {
		for i := range slice.Endpoints {
			text = append(text, fmt.Sprint(slice.AddressType, " ", slice.Endpoints[i].Addresses[0], " ", len(slice.Ports), " ", *slice.Ports[0].Port))
		}
	}
	require.Equal(t, []string{"IPv4 10.0.0.1 1 8080", "IPv4 10.0.0.3 1 8080", "IPv6 fd00::1 1 8080", "IPv4 10.0.0.2 1 9090"}, text)
}

func TestIndex(t *testing.T) {
	x := workload.NewIndex()
	for i := range 4 {
		x.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint(i), Labels: map[string]string{"app": "web", "n": fmt.Sprint(i)}}})
	}
	find := func(namespace, text string) (names []string) {
		s, err := labels.Parse(text)
		require.NoError(t, err)
		for _, p := range x.Find(namespace, s) {
			names = append(names, p.Name)
		}
		return names
	}
	require.Equal(t, []string{"0", "1", "2", "3"}, find("shop", "app=web"))
	require.Equal(t, []string{"2"}, find("shop", "app=web,n=2"))
	require.Equal(t, []string{"0", "3"}, find("shop", "n in (0,3)"))
	require.Empty(t, find("prod", "app=web"))
	require.Empty(t, find("shop", "app=db"))
	require.Empty(t, find("shop", ""), "an empty selector selects nothing")
}
