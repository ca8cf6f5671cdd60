// Package sdwantest is a site with CNFs: simulated devices, an API that stores SD-WAN objects, DNS and a source of objects.
// Tests that configure CNFs run inside a synctest bubble, where time passes when nothing else can happen.
package sdwantest

import (
	"context"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// Site is a namespace called site with CNFs, and an API that stores SD-WAN objects. Make it with New, inside a bubble.
type Site struct {
	*testing.T
	Source  *pipelinetest.Source
	Client  *dynamicfake.FakeDynamicClient
	Events  *record.FakeRecorder
	Log     *logrus.Logger
	Options sdwan.Options                // of a controller of the site, without Target
	Devices map[string]*simulator.Device // by address
	Late    time.Duration                // how long after a write the source delivers it
	Metrics http.Handler                 // of the process that configures the CNFs

	mu      sync.Mutex
	others  []*simulator.Device // also closed with the site
	secrets map[string]map[string][]byte
	hosts   map[string][]netip.Addr // names that DNS knows
	silent  error                   // the answer of DNS for all others; nil is that they do not exist
	fails   func(clienttesting.PatchAction) error
	latest  int // counts what was delivered late
	version int
	patches []string // kind of object and subresource of each write
}

// New makes a site without CNFs.
func New(t *testing.T) *Site {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r := &Site{
		T: t, Source: pipelinetest.New(), Client: dynamicfake.NewSimpleDynamicClient(scheme), Events: record.NewFakeRecorder(100),
		Log: pipelinetest.Log(t), Devices: map[string]*simulator.Device{}, secrets: map[string]map[string][]byte{},
		hosts: map[string][]netip.Addr{}, version: 100,
	}
	r.Client.PrependReactor("patch", "*", r.patch)
	r.Source.Put(pipelinetest.Namespace("site"))
	r.Source.Sync()
	r.Options = sdwan.Options{
		Enabled: true, Dynamic: r.Client, Secrets: r, Events: r.Events, PlainHTTP: true,
		Dial: r.dial, Interval: 30 * time.Second,
	}
	return r
}

// Close closes all devices.
func (r *Site) Close() {
	for _, d := range slices.AppendSeq(r.others, maps.Values(r.Devices)) {
		d.Close()
	}
}

// Own closes a device with the site.
func (r *Site) Own(d *simulator.Device) { r.others = append(r.others, d) }

// After lets time pass.
func (r *Site) After(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// CNF brings up a pod of the CNF cnf, with a device at its address.
func (r *Site) CNF(name, addr string, change ...func(*corev1.Pod)) *simulator.Device {
	r.Helper()
	if r.Devices[addr] == nil {
		device, err := simulator.New(simulator.Options{NoLeak: true})
		require.NoError(r, err)
		r.Place(addr, device)
	}
	r.Pod(name, addr, change...)
	return r.Devices[addr]
}

// Place makes a device answer at an address.
func (r *Site) Place(addr string, d *simulator.Device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Devices[addr] = d
}

// Pod puts the pod of a CNF.
func (r *Site) Pod(name, addr string, change ...func(*corev1.Pod)) {
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
	r.Source.Put(p)
}

// NotReady makes a pod not ready.
func NotReady(p *corev1.Pod) { p.Status.Conditions = nil }

// Restarted restarts the container of a pod.
func Restarted(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sdewan", RestartCount: 1}}
}

// Rule returns a Mwan3Rule as the API has it; nil if it is gone.
func (r *Site) Rule(name string) *v1alpha1.Mwan3Rule {
	o, ok := r.Source.Get(object.Ref{Kind: "Mwan3Rule", Namespace: "site", Name: name})
	if !ok {
		return nil
	}
	rule, _ := o.(*v1alpha1.Mwan3Rule)
	return rule
}

// Secret makes the site a reader of Secrets.
func (r *Site) Secret(_ context.Context, namespace, name string) (map[string][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.secrets[namespace+"/"+name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("read Secret %s/%s: there is no such Secret", namespace, name)
}

// SetSecret sets a Secret with one key.
func (r *Site) SetSecret(name, key, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets["site/"+name] = map[string][]byte{key: []byte(value)}
}

func (r *Site) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	r.mu.Lock()
	d := r.Devices[host]
	r.mu.Unlock()
	if d == nil {
		return nil, io.ErrUnexpectedEOF
	}
	return d.Dial(ctx, network, address)
}

// LookUp answers as DNS does, see DNS.
func (r *Site) LookUp(_ context.Context, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch addrs, ok := r.hosts[host]; {
	case ok:
		return addrs, nil
	case r.silent != nil:
		return nil, r.silent
	default:
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}
}

// Rule returns a Mwan3Rule for a destination.
func Rule(name, dst string) *v1alpha1.Mwan3Rule {
	return &v1alpha1.Mwan3Rule{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.Mwan3RuleSpec{Policy: "both", DestIP: v1alpha1.Address(dst), Proto: "all"},
	}
}

// Policy returns a Mwan3Policy over both networks.
func Policy(name string) *v1alpha1.Mwan3Policy {
	return &v1alpha1.Mwan3Policy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.Mwan3PolicySpec{Members: []v1alpha1.Mwan3Member{
			{Network: "wan-a", Metric: 1, Weight: 1}, {Network: "wan-b", Metric: 1, Weight: 1},
		}},
	}
}

// DNS sets the addresses of a name; without any, it does not exist. With silent, DNS does not answer for such names.
func (r *Site) DNS(silent error, name string, addrs ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.silent = silent
	delete(r.hosts, name)
	for _, a := range addrs {
		r.hosts[name] = append(r.hosts[name], netip.MustParseAddr(a))
	}
}

// Recorded lists the Events since the last call.
func (r *Site) Recorded() string {
	var all []string
	for {
		select {
		case e := <-r.Events.Events:
			all = append(all, e)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// RulesTo counts the rules of a device for a destination.
func RulesTo(d *simulator.Device, dst string) int {
	return strings.Count(d.Export("mwan3"), "option dest_ip '"+dst+"'")
}

// Metric adds up the samples of a metric that have a text among their labels; "" matches all.
func (r *Site) Metric(name, label string) float64 {
	r.Helper()
	answer := httptest.NewRecorder()
	r.Metrics.ServeHTTP(answer, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/metrics", nil))
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

// Counted reports whether any metric has a target among its labels.
func (r *Site) Counted(target string) bool {
	answer := httptest.NewRecorder()
	r.Metrics.ServeHTTP(answer, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/metrics", nil))
	return strings.Contains(answer.Body.String(), `target="`+target+`"`)
}
