package readiness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/memory"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/feedback/readiness"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/inputs/source"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/translator"
)

const gate = corev1.PodConditionType("netloom.io/network-policy")

// rig is a cluster with pods that have the gate, an API that stores their conditions, a target, and the controller between them.
type rig struct {
	*testing.T
	source   *pipelinetest.Source
	client   *fake.FakeMetadataClient
	rows     *memory.Target
	target   *peer
	grace    time.Duration
	fraction float64
	off      bool // conditions are not written
	written  bool // the target does not report what is installed
	node     string
	log      *logrus.Logger
	logged   *logtest.Hook
	made     *readiness.Controller
	stop     func()

	mu      sync.Mutex
	version int
	patches []string                // each: pod, status and reason
	fails   func(name string) error // of a patch; nil accepts it
	slow    time.Duration           // between the end of a round and its report
	lag     bool                    // the watch delivers no patch
}

// peer is a target that can fail, miss pods, and report what is installed.
type peer struct {
	backends.Backend
	mu        sync.Mutex
	err       error // of the next plans
	missing   []string
	newest    uint64 // mark
	through   uint64
	automatic bool // marks are installed at once
	marks     int  // how often Mark was called
}

func (p *peer) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	p.mu.Lock()
	err := p.err
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return p.Backend.Plan(ctx, want, since)
}

func (p *peer) Coverage() (backends.Coverage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var gaps []backends.Gap
	for _, name := range p.missing {
		gaps = append(gaps, backends.Gap{Endpoint: object.Key{Namespace: "shop", Name: name}, Lacks: "logical port shop_" + name})
	}
	return backends.Coverage{Selected: 10, Missing: backends.Gaps{}.With(gaps, nil)}, true
}

func (p *peer) Mark(context.Context) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	p.newest++
	p.marks++
	return p.newest, nil
}

func (p *peer) Installed(context.Context) (backends.Installation, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.automatic {
		p.through = p.newest
	}
	out := backends.Installation{Through: p.through, Newest: p.newest}
	if p.through < p.newest {
		out.Waits = "ovn-controller on at least one chassis"
	}
	return out, p.err
}

// set changes the target.
func (p *peer) set(f func(*peer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// withRig runs f with a rig, where time passes when nothing else can happen.
func withRig(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		log, logged := logtest.NewNullLogger()
		d := &rig{
			T: t, source: pipelinetest.New(), client: fake.NewSimpleMetadataClient(fake.NewTestScheme()), rows: memory.NewTarget(), version: 100,
			grace: 2 * time.Minute, fraction: 0.5, log: log, logged: logged,
		}
		d.target = &peer{automatic: true}
		d.client.PrependReactor("patch", "pods", d.patch)
		d.source.Put(pipelinetest.Namespace("shop"))
		d.policy("shield", 3)
		d.source.Sync()
		defer func() {
			if d.stop != nil {
				d.stop()
			}
		}()
		f(d)
	})
}

// start runs a pipeline, a loop and the controller, and lets a moment pass. The target keeps what an earlier run wrote.
func (d *rig) start() {
	d.Helper()
	d.source.Again()
	d.target.Backend = memory.New(d.rows, "netloom")
	s := &state{rig: d, pipeline: pipeline.New(d.source, translator.Options{Node: d.node}, d.log), coverage: target.NewCoverage(metrics.New(), d.log)}
	opts := readiness.Options{
		State: s, Gate: gate, Node: d.node, Grace: d.grace, MaxFraction: d.fraction, Client: d.client, Metrics: metrics.New(), Log: d.log,
	}
	if d.off {
		opts.Client = nil
	}
	d.made = readiness.New(opts)
	observers := reconcile.Observers{&slow{of: d}, s.coverage, d.made.Observer()}
	s.loop = reconcile.New(d.target, s.pipeline.Latest, reconcile.Options{
		Target: "ovn", Log: d.log, Observer: &observers, RetryMin: 250 * time.Millisecond, RetryMax: 5 * time.Second,
		MaxInterval: 5 * time.Minute, MaxDeleteFraction: 1,
	})
	s.coverage.Add("ovn", d.target)
	s.coverage.OnChange(d.made.Covered)
	s.pipeline.OnPublish(d.made.Published)
	s.pipeline.OnPublish(func(pipeline.Published) { s.loop.Wake() })
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.Context()))
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{s.pipeline.Run, s.loop.Run, d.made.Run} {
		group.Go(func() error { return run(ctx) })
	}
	d.stop = func() {
		cancel()
		require.NoError(d, group.Wait())
		d.stop = nil
	}
	d.after(2 * time.Second)
}

// slow delays the report of a round, whose end the status of the loop shows already.
type slow struct {
	reconcile.Observers
	of *rig
}

func (s *slow) Converged(string, intent.Revision, int) { time.Sleep(s.of.slow) }

// state is what the controller reads.
type state struct {
	rig      *rig
	pipeline *pipeline.Pipeline
	coverage *target.Coverage
	loop     *reconcile.Loop
}

func (s *state) Latest() *intent.Snapshot { return s.pipeline.Latest() }

func (s *state) Object(ref object.Ref) (runtime.Object, bool) { return s.rig.source.Get(ref) }

func (s *state) Policy(ref object.Ref) (metav1.Object, bool) {
	return s.pipeline.Translator().Policy(ref)
}

func (s *state) Targets() []readiness.Target {
	covered, _ := s.coverage.Of("ovn")
	out := readiness.Target{Target: policy.Target{Name: "ovn", Status: s.loop.Status(), Missing: covered.Missing}}
	if !s.rig.written {
		out.Marker = s.rig.target
	}
	return []readiness.Target{out}
}

// after lets time pass.
func (*rig) after(t time.Duration) {
	time.Sleep(t)
	synctest.Wait()
}

// policy puts a policy that selects the pods of the app web. Each generation opens another port.
func (d *rig) policy(name string, generation int64) {
	p := pipelinetest.Policy(name, "db", "web")
	p.Namespace, p.Generation, p.UID = "shop", generation, types.UID("uid-of-"+name)
	port := intstr.FromInt32(int32(generation))
	p.Spec.Ingress[0].Ports = []networkingv1.NetworkPolicyPort{{Port: &port}}
	d.source.Put(p)
}

// pod puts a pod with the gate, whose condition has a status; "" for none.
func (d *rig) pod(name, app, addr string, status corev1.ConditionStatus, change ...func(*corev1.Pod)) {
	p := pipelinetest.Pod(name, app, "n1", addr)
	d.mu.Lock()
	version := strconv.Itoa(d.version)
	d.mu.Unlock()
	p.UID, p.ResourceVersion = types.UID("uid-of-"+name), version
	if addr == "" {
		p.Status.PodIPs = nil
	}
	source.SetGate(p, gate, status)
	for _, f := range change {
		f(p)
	}
	d.source.Put(p)
}

// condition delivers a pod of which nothing but its condition has changed.
func (d *rig) condition(p *corev1.Pod) {
	d.source.Replace(p)
	d.made.Conditioned(pipelinetest.RefOf(p))
}

// patch stores a condition as an API server does, and delivers the pod.
func (d *rig) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	p, ok := a.(clienttesting.PatchActionImpl)
	if !ok || p.GetPatchType() != types.StrategicMergePatchType || p.GetSubresource() != "status" {
		return true, nil, errors.New("expected a strategic merge patch of the status")
	}
	var content struct {
		Metadata struct{ UID types.UID }
		Status   struct{ Conditions []corev1.PodCondition }
	}
	if err := json.Unmarshal(p.GetPatch(), &content); err != nil || len(content.Status.Conditions) != 1 {
		return true, nil, errors.New("expected one condition")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c := content.Status.Conditions[0]
	d.patches = append(d.patches, fmt.Sprintf("%s %s %s: %s", p.GetName(), c.Status, c.Reason, c.Message))
	if d.fails != nil {
		if err := d.fails(p.GetName()); err != nil {
			return true, nil, err
		}
	}
	found, _ := d.source.Get(object.Ref{Kind: object.KindPod, Namespace: p.GetNamespace(), Name: p.GetName()})
	is, ok := found.(*corev1.Pod)
	switch {
	case !ok:
		return true, nil, apierrors.NewNotFound(corev1.Resource("pods"), p.GetName())
	case is.UID != content.Metadata.UID:
		return true, nil, apierrors.NewConflict(corev1.Resource("pods"), p.GetName(), errors.New("another UID"))
	}
	now := is.DeepCopy()
	now.Status.Conditions = append(slices.DeleteFunc(now.Status.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type }), c)
	d.version++
	now.ResourceVersion = strconv.Itoa(d.version)
	if !d.lag {
		d.condition(now)
	}
	return true, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: now.Namespace, Name: now.Name, ResourceVersion: now.ResourceVersion}}, nil
}

// writes returns the patches since the last call, sorted.
func (d *rig) writes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.patches
	d.patches = nil
	slices.Sort(out)
	return out
}

// fail makes patches fail.
func (d *rig) fail(f func(name string) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails = f
}

// errors counts the log lines of severity error that contain a text.
func (d *rig) errors(text string) int {
	n := 0
	for _, e := range d.logged.AllEntries() {
		if e.Level == logrus.ErrorLevel && strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}
