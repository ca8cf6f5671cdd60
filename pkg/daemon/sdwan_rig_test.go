package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/controller/sdwan"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt/simulator"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/pkg/status"
)

// rig is a namespace called site with CNFs, an API that keeps SD-WAN objects, and a daemon.
type rig struct {
	*testing.T
	source  *pipelinetest.Source
	client  *dynamicfake.FakeDynamicClient
	events  *record.FakeRecorder
	opts    daemon.Options
	daemon  *daemon.Daemon
	page    http.Handler // of the daemon, where it has one
	stop    func()       // ends the daemon and waits for it
	log     *logrus.Logger
	devices map[string]*simulator.Device // by address
	others  []*simulator.Device          // to be closed besides

	mu      sync.Mutex
	secrets map[string]map[string][]byte
	hosts   map[string][]netip.Addr // that DNS knows
	deaf    error                   // what DNS says of all others; nil is that there are none
	fails   func(clienttesting.PatchAction) error
	late    time.Duration // how long after a write the source sees it
	latest  int           // counts what it saw late
	version int
	patches []string // kind of object and subresource of each write
}

// newRig makes a rig inside the bubble of a test. The daemon runs once start is called.
func newRig(t *testing.T) *rig {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r := &rig{
		T: t, source: pipelinetest.New(), client: dynamicfake.NewSimpleDynamicClient(scheme), events: record.NewFakeRecorder(100),
		log: testLog(t), devices: map[string]*simulator.Device{}, secrets: map[string]map[string][]byte{},
		hosts: map[string][]netip.Addr{}, version: 100,
	}
	r.client.PrependReactor("patch", "*", r.patch)
	r.source.Put(pipelinetest.Namespace("site"))
	r.source.Sync()
	r.opts = daemon.Options{
		Source: r.source, Target: builtin.Settings{Owner: "netloom"},
		Reconcile: reconcile.Options{RetryMin: 250 * time.Millisecond, RetryMax: 30 * time.Second, MaxDeleteFraction: 0.5},
		SDWAN: sdwan.Options{
			Enabled: true, Dynamic: r.client, Secrets: r, Events: r.events, PlainHTTP: true,
			Dial: r.dial, Resolve: r.resolve, Interval: 30 * time.Second,
		},
	}
	return r
}

// inBubble runs f with a rig, where time passes when nothing else can happen.
func inBubble(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer func() {
			if r.stop != nil {
				r.stop()
			}
			for _, d := range slices.AppendSeq(r.others, maps.Values(r.devices)) {
				d.Close()
			}
		}()
		f(r)
	})
}

// start runs the daemon and lets a moment pass.
func (r *rig) start() {
	r.Helper()
	r.source.Again()
	d, err := daemon.New(r.opts, r.log)
	require.NoError(r, err)
	if r.opts.UIListen != "" {
		r.page = d.HushUI()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	r.daemon = d
	r.stop = func() {
		cancel()
		require.NoError(r, <-ended)
		d.Close()
		r.stop = nil
	}
	r.after(3 * time.Second)
}

// after lets time pass.
func (r *rig) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// cnf brings up a pod of the CNF cnf, with a device at its address.
func (r *rig) cnf(name, addr string, change ...func(*corev1.Pod)) *simulator.Device {
	r.Helper()
	if r.devices[addr] == nil {
		device, err := simulator.New(simulator.Options{NoLeak: true})
		require.NoError(r, err)
		r.place(addr, device)
	}
	r.pod(name, addr, change...)
	return r.devices[addr]
}

// place has a device answer at an address.
func (r *rig) place(addr string, d *simulator.Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.devices[addr] = d
}

// pod puts the pod of a CNF.
func (r *rig) pod(name, addr string, change ...func(*corev1.Pod)) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "site", Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{v1alpha1.LabelPurpose: "cnf"},
			Annotations: map[string]string{"k8s.plugin.opnfv.org/nfn-network": `{"type":"ovn4nfv","interface":[
				{"name":"wan-a","interface":"net1"},{"name":"wan-b","interface":"net2"}]}`},
		},
		Spec: corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: addr, PodIPs: []corev1.PodIP{{IP: addr}},
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(p)
	}
	r.source.Put(p)
}

func notReady(p *corev1.Pod) { p.Status.Conditions = nil }

func restarted(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sdewan", RestartCount: 1}}
}

// apply gives the API an object, or its next generation.
func (r *rig) apply(o status.Object) {
	r.Helper()
	o.SetNamespace("site")
	if o.GetLabels() == nil {
		o.SetLabels(map[string]string{v1alpha1.LabelPurpose: "cnf"})
	}
	kind := status.KindOf(o)
	o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(r, err)
	fresh := &unstructured.Unstructured{Object: fields}
	ref := object.Ref{Kind: kind, Namespace: "site", Name: o.GetName()}
	old, err := r.client.Tracker().Get(resourceOf(ref), "site", o.GetName())
	r.mu.Lock()
	r.version++
	fresh.SetResourceVersion(strconv.Itoa(r.version))
	r.mu.Unlock()
	fresh.SetUID("uid-of-object")
	if err != nil {
		fresh.SetGeneration(1)
		require.NoError(r, r.client.Tracker().Create(resourceOf(ref), fresh, "site"))
	} else {
		was, ok := old.(*unstructured.Unstructured)
		require.True(r, ok)
		fresh.SetGeneration(was.GetGeneration() + 1)
		fresh.SetFinalizers(was.GetFinalizers())
		if s, ok := was.Object["status"]; ok {
			fresh.Object["status"] = s
		}
		require.NoError(r, r.client.Tracker().Update(resourceOf(ref), fresh, "site"))
	}
	r.deliver(ref, fresh)
}

// remove asks the API to delete an object.
func (r *rig) remove(kind, name string) {
	r.Helper()
	ref := object.Ref{Kind: kind, Namespace: "site", Name: name}
	o := r.stored(ref)
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	o.SetGeneration(o.GetGeneration() + 1)
	r.store(ref, o)
}

func resourceOf(ref object.Ref) (gvr schema.GroupVersionResource) {
	for _, one := range v1alpha1.Resources() {
		if one.Kind == ref.Kind {
			return v1alpha1.GroupVersion.WithResource(one.Plural)
		}
	}
	return gvr
}

func (r *rig) stored(ref object.Ref) *unstructured.Unstructured {
	r.Helper()
	o, err := r.client.Tracker().Get(resourceOf(ref), ref.Namespace, ref.Name)
	require.NoError(r, err)
	u, ok := o.(*unstructured.Unstructured)
	require.True(r, ok)
	return u.DeepCopy()
}

// store keeps an object as a server would: one that goes is gone once it has no finalizers.
func (r *rig) store(ref object.Ref, o *unstructured.Unstructured) {
	r.mu.Lock()
	r.version++
	o.SetResourceVersion(strconv.Itoa(r.version))
	r.mu.Unlock()
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		_ = r.client.Tracker().Delete(resourceOf(ref), ref.Namespace, ref.Name)
		r.source.PutAs(ref, nil)
		return
	}
	_ = r.client.Tracker().Update(resourceOf(ref), o, ref.Namespace)
	r.deliver(ref, o)
}

// deliver has the source see an object as it is now.
func (r *rig) deliver(ref object.Ref, u *unstructured.Unstructured) {
	scheme := runtime.NewScheme()
	_ = v1alpha1.AddToScheme(scheme)
	o, _ := scheme.New(v1alpha1.GroupVersion.WithKind(ref.Kind))
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o)
	see := func() { r.source.PutAs(ref, o) }
	if r.late == 0 {
		see()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest++ // what is delivered at one moment comes in order
	time.AfterFunc(r.late+time.Duration(r.latest), see)
}

// patch is what the API makes of a merge patch.
func (r *rig) patch(action clienttesting.Action) (bool, runtime.Object, error) {
	p, _ := action.(clienttesting.PatchAction)
	ref := object.Ref{Namespace: p.GetNamespace(), Name: p.GetName()}
	for _, one := range v1alpha1.Resources() {
		if one.Plural == p.GetResource().Resource {
			ref.Kind = one.Kind
		}
	}
	r.mu.Lock()
	fails := r.fails
	r.mu.Unlock()
	if fails != nil {
		if err := fails(p); err != nil {
			return true, nil, err
		}
	}
	found, err := r.client.Tracker().Get(p.GetResource(), ref.Namespace, ref.Name)
	if err != nil {
		return true, nil, err
	}
	was, _ := found.(*unstructured.Unstructured)
	var change map[string]any
	if err := json.Unmarshal(p.GetPatch(), &change); err != nil {
		return true, nil, err
	}
	meta, _ := change["metadata"].(map[string]any)
	if meta["resourceVersion"] != was.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(p.GetResource().GroupResource(), ref.Name, errors.New("changed"))
	}
	now := was.DeepCopy()
	merge(now.Object, change)
	r.mu.Lock()
	r.patches = append(r.patches, fmt.Sprintf("%s %s%s", ref.Kind, ref.Name, map[bool]string{true: " status"}[p.GetSubresource() != ""]))
	r.mu.Unlock()
	r.store(ref, now)
	return true, now, nil
}

// merge merges a patch into an object.
func merge(into, patch map[string]any) {
	for k, v := range patch {
		inner, isMap := v.(map[string]any)
		old, wasMap := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}

// writes lists the writes since it was called last.
func (r *rig) writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.patches
	r.patches = nil
	return out
}

// rule is a Mwan3Rule as the API has it; nil when it is gone.
func (r *rig) rule(name string) *v1alpha1.Mwan3Rule {
	o, ok := r.source.Get(object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: name})
	if !ok {
		return nil
	}
	rule, _ := o.(*v1alpha1.Mwan3Rule)
	return rule
}

// Secret has the rig be a reader of Secrets.
func (r *rig) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.secrets[namespace+"/"+name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("read Secret %s/%s: there is no such Secret", namespace, name)
}

func (r *rig) secret(name, key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets["site/"+name] = map[string][]byte{key: []byte(value)}
}

func (r *rig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	r.mu.Lock()
	d := r.devices[host]
	r.mu.Unlock()
	if d == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return d.Dial(ctx, network, address)
}

func (r *rig) resolve(_ context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch addrs, ok := r.hosts[host]; {
	case ok:
		return addrs, nil
	case r.deaf != nil:
		return nil, r.deaf
	default:
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}
}

// metric adds up the samples of a metric that have a text among their labels; "" takes all.
func (r *rig) metric(name, label string) float64 {
	r.Helper()
	answer := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/metrics", nil))
	sum := 0.0
	for line := range strings.SplitSeq(answer.Body.String(), "\n") {
		if rest, ok := strings.CutPrefix(line, name); ok && (rest[0] == '{' || rest[0] == ' ') && strings.Contains(rest, label) {
			n, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
			require.NoError(r, err)
			sum += n
		}
	}
	return sum
}

// counted says whether any metric speaks of a target.
func (r *rig) counted(target string) bool {
	answer := httptest.NewRecorder()
	r.daemon.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/metrics", nil))
	return strings.Contains(answer.Body.String(), `target="`+target+`"`)
}

func wanRule(name, dst string) *v1alpha1.Mwan3Rule {
	return &v1alpha1.Mwan3Rule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.Mwan3RuleSpec{Policy: "both", DestIP: v1alpha1.Address(dst), Proto: "all"},
	}
}

func wanPolicy(name string) *v1alpha1.Mwan3Policy {
	return &v1alpha1.Mwan3Policy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.Mwan3PolicySpec{Members: []v1alpha1.Mwan3Member{
			{Network: "wan-a", Metric: 1, Weight: 1}, {Network: "wan-b", Metric: 1, Weight: 1},
		}},
	}
}
