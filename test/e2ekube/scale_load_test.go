//go:build e2e

package e2ekube_test

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/netloom/netloom/pkg/ovsdb/ovsdbtest"
	"github.com/netloom/netloom/test/await"
	"github.com/netloom/netloom/test/e2ekube/kubelab"
	"github.com/netloom/netloom/test/oracle"
)

// writers is how many requests are under way at a time.
const writers = 8

// The changes that are timed.
const (
	kindLoad      = "load"
	kindRelabel   = "a pod's label"
	kindReaddress = "a pod's address"
	kindPolicy    = "a new policy"
	kindBurst     = "a pod's label, in the burst"
)

// load writes the objects of a cluster as a cluster's own components would.
type load struct {
	client  kubernetes.Interface
	cluster *oracle.Cluster
	webs    []int // the pods of tier web, which relabel moves
}

func newLoad(t *testing.T, kube *kubelab.Lab, cluster *oracle.Cluster) *load {
	t.Helper()
	config := kube.Config()
	config.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	l := &load{client: client, cluster: cluster}
	for i, p := range cluster.Pods {
		if p.Labels["tier"] == "web" {
			l.webs = append(l.webs, i)
		}
	}
	return l
}

// each calls f with every number below n, from several goroutines.
func (l *load) each(t *testing.T, n int, f func(i int)) {
	t.Helper()
	numbers := make(chan int)
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for i := range numbers {
				f(i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	running.Wait()
	require.False(t, t.Failed())
}

// namespaces makes the namespaces and the node, and waits until pods can be made in them.
func (l *load) namespaces(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, o := range l.cluster.Nodes {
		o.UID = ""
		_, err := l.client.CoreV1().Nodes().Create(ctx, o, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for _, o := range l.cluster.Namespaces {
		o.UID = ""
		_, err := l.client.CoreV1().Namespaces().Create(ctx, o, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for _, o := range l.cluster.Namespaces {
		await.True(t, func() bool {
			_, err := l.client.CoreV1().ServiceAccounts(o.Name).Get(ctx, "default", metav1.GetOptions{})
			require.True(t, err == nil || apierrors.IsNotFound(err), err)
			return err == nil
		}, "%s", "namespace "+o.Name+" has its service account")
	}
}

// create makes the policies, then the pods, each of which gets its address once it is there.
func (l *load) create(t *testing.T, times *stopwatch) {
	t.Helper()
	l.each(t, len(l.cluster.Policies), func(i int) {
		p := l.cluster.Policies[i]
		p.UID = ""
		_, err := l.client.NetworkingV1().NetworkPolicies(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
		assert.NoError(t, err)
	})
	l.each(t, len(l.cluster.Pods), func(i int) {
		p := lifelike(l.cluster.Pods[i])
		made, err := l.client.CoreV1().Pods(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
		if !assert.NoError(t, err) {
			return
		}
		made.Status = p.Status
		done := times.begin(kindLoad, key(p), p.Status.PodIP)
		made, err = l.client.CoreV1().Pods(p.Namespace).UpdateStatus(t.Context(), made, metav1.UpdateOptions{})
		if assert.NoError(t, err) {
			done(made.ResourceVersion)
		}
	})
}

func key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// lifelike gives a pod what pods carry about that netloom has no use for.
func lifelike(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	p.UID = ""
	p.Annotations = map[string]string{
		"example.com/config-hash": strings.Repeat("0123456789abcdef", 4), "example.com/owner": "the people who run " + p.Name,
	}
	c := &p.Spec.Containers[0]
	for i := range 12 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("EXAMPLE_SETTING_%d", i), Value: "https://service.example.com/" + p.Name})
	}
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(80)}}}
	c.LivenessProbe, c.ReadinessProbe = probe, probe
	now := metav1.Now()
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: c.Name, Ready: true, Image: c.Image, ImageID: "sha256:" + strings.Repeat("ab", 32),
		ContainerID: "containerd://" + strings.Repeat("cd", 32), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
	}}
	p.Status.StartTime = &now
	return p
}

// relabel moves the ith pod of tier web to another tier.
func (l *load) relabel(t *testing.T, times *stopwatch, kind string, i int) {
	t.Helper()
	p := l.cluster.Pods[l.webs[i]]
	done := times.begin(kind, key(p), p.Status.PodIP)
	got, err := l.client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"tier":"api"}}}`), metav1.PatchOptions{})
	if assert.NoError(t, err) {
		done(got.ResourceVersion)
	}
}

// readdress gives the ith pod from the end another address.
func (l *load) readdress(t *testing.T, times *stopwatch, i int) {
	t.Helper()
	p := l.cluster.Pods[len(l.cluster.Pods)-1-i]
	address := netip.AddrFrom4([4]byte{10, 255, byte(i >> 8), byte(i)}).String()
	done := times.begin(kindReaddress, key(p), address)
	got, err := l.client.CoreV1().Pods(p.Namespace).Patch(t.Context(), p.Name, types.MergePatchType,
		fmt.Appendf(nil, `{"status":{"podIP":%[1]q,"podIPs":[{"ip":%[1]q}]}}`, address), metav1.PatchOptions{}, "status")
	if assert.NoError(t, err) {
		done(got.ResourceVersion)
	}
}

// addPolicy makes one more policy like the others, with a port that none of them has.
func (l *load) addPolicy(t *testing.T, times *stopwatch, i int) {
	t.Helper()
	l.addPolicyAs(t, times, kindPolicy, i)
}

// addPolicyAs does so as another kind of change.
func (l *load) addPolicyAs(t *testing.T, times *stopwatch, kind string, i int) {
	t.Helper()
	p := l.cluster.Policies[i%len(l.cluster.Policies)].DeepCopy()
	p.ObjectMeta = metav1.ObjectMeta{Namespace: p.Namespace, Name: fmt.Sprintf("added-%04d", i)}
	port := intstr.FromInt32(int32(20000 + i))
	p.Spec.Ingress[0].Ports = []networkingv1.NetworkPolicyPort{{Port: &port}}
	done := times.begin(kind, key(p), key(p))
	got, err := l.client.NetworkingV1().NetworkPolicies(p.Namespace).Create(t.Context(), p, metav1.CreateOptions{})
	if assert.NoError(t, err) {
		done(got.ResourceVersion)
	}
}

// makePorts adds the logical ports of all pods to one switch, as a network plugin would have.
func (l *load) makePorts(t *testing.T, endpoint string) {
	t.Helper()
	wire, err := ovsdbtest.DialRaw(t.Context(), endpoint, "OVN_Northbound")
	require.NoError(t, err)
	defer func() { _ = wire.Close() }()
	ops := make([]any, 0, len(l.cluster.Pods)+1)
	ports := make([]any, 0, len(l.cluster.Pods))
	for i, p := range l.cluster.Pods {
		id := fmt.Sprintf("port%d", i)
		ops = append(ops, map[string]any{
			"op": "insert", "table": "Logical_Switch_Port", "uuid-name": id,
			"row": map[string]any{"name": p.Namespace + "_" + p.Name, "addresses": "dynamic"},
		})
		ports = append(ports, []any{"named-uuid", id})
	}
	ops = append(ops, map[string]any{
		"op": "insert", "table": "Logical_Switch", "row": map[string]any{"name": "scale", "ports": []any{"set", ports}},
	})
	_, err = wire.Transact(ops...)
	require.NoError(t, err)
}

// wipe deletes all that policies became.
func (l *load) wipe(t *testing.T, endpoint string) {
	t.Helper()
	wire, err := ovsdbtest.DialRaw(t.Context(), endpoint, "OVN_Northbound")
	require.NoError(t, err)
	defer func() { _ = wire.Close() }()
	var ops []any
	for _, table := range []string{"Port_Group", "Address_Set"} {
		ops = append(ops, map[string]any{"op": "delete", "table": table, "where": []any{}})
	}
	_, err = wire.Transact(ops...)
	require.NoError(t, err)
}

func splitAddress(address string) (host, port string, err error) { return net.SplitHostPort(address) }
