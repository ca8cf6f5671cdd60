package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/memory"
	"github.com/netloom/netloom/pkg/apis/netloom/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback/metrics"
	"github.com/netloom/netloom/pkg/feedback/policy"
	"github.com/netloom/netloom/pkg/feedback/target"
	"github.com/netloom/netloom/pkg/inputs/retention"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/pipeline/pipelinetest"
	"github.com/netloom/netloom/pkg/reconcile"
	"github.com/netloom/netloom/translator"
)

// rig is a cluster with policies, an API with PolicyStatus objects, a target, and the controller between them.
type rig struct {
	*testing.T
	source  *pipelinetest.Source
	client  *dynamicfake.FakeDynamicClient
	events  *record.FakeRecorder
	rows    *memory.Target
	backend *faulty
	node    string // of this netloom, where each node has one
	mute    bool   // no PolicyStatus is written
	parts   bool   // lists of rules with parts are composite sets, whose pods the backend of the rig does not follow
	guard   reconcile.Options
	loop    *reconcile.Loop
	made    *policy.Controller
	stop    func()       // ends what start began, and waits for it
	broken  error        // of the backend, from the start
	knows   []object.Ref // those that the target has rows of at the start; see remembering

	api *applied
}

// applied stores what is applied, as a server does: who owns which targets, and a version for all objects.
type applied struct {
	mu      sync.Mutex
	version int
	owns    map[string]map[string][]string // by object and manager: targets
	patches []string                       // each that was asked for: object, subresource, manager
	fails   func(clienttesting.Action) error
}

// faulty is a backend that fails on demand.
type faulty struct {
	backends.Backend
	mu    sync.Mutex
	err   error
	skips []backends.Skip
	// coverage is what it says of its endpoints; all of them are known at first.
	coverage backends.Coverage
}

func (f *faulty) Coverage() (backends.Coverage, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.coverage, true
}

// lacks makes the target miss some pods from its next plan on.
func (f *faulty) lacks(pods ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.coverage = backends.Coverage{Selected: 10, Missing: missing(pods...)}
}

func (f *faulty) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *faulty) Plan(ctx context.Context, want *intent.Snapshot, since intent.Revision) (*backends.Plan, error) {
	f.mu.Lock()
	err, skips := f.err, f.skips
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	p, err := f.Backend.Plan(ctx, want, since)
	if err == nil {
		p.Skips = append(p.Skips, skips...)
	}
	return p, err
}

var policyStatuses = v1alpha1.GroupVersion.WithResource(v1alpha1.PluralPolicyStatus)

func newRig(t *testing.T) *rig {
	d := &rig{
		T: t, source: pipelinetest.New(), events: record.NewFakeRecorder(10_000), rows: memory.NewTarget(),
		client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			policyStatuses: v1alpha1.KindPolicyStatus + "List",
		}),
		api: &applied{version: 100, owns: map[string]map[string][]string{}},
	}
	d.client.PrependReactor("patch", "*", d.patch)
	d.client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		d.api.mu.Lock()
		defer d.api.mu.Unlock()
		if d.api.fails != nil {
			if err := d.api.fails(a); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	d.client.PrependWatchReactor("*", func(a clienttesting.Action) (bool, watchInterface, error) {
		d.api.mu.Lock()
		defer d.api.mu.Unlock()
		if d.api.fails != nil {
			if err := d.api.fails(a); err != nil {
				return true, nil, err
			}
		}
		return false, nil, nil
	})
	d.source.Put(pipelinetest.Namespace("shop"), pipelinetest.Pod("db-0", "db", "n1", "10.0.0.1"), pipelinetest.Pod("web-0", "web", "n1", "10.0.0.2"))
	d.source.Sync()
	d.guard = reconcile.Options{
		RetryMin: 250 * time.Millisecond, RetryMax: 5 * time.Second, MaxInterval: 5 * time.Minute, MaxDeleteFraction: 1,
	}
	return d
}

// withRig runs f with a rig, where time passes when nothing else can happen.
func withRig(t *testing.T, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		d := newRig(t)
		defer func() {
			if d.stop != nil {
				d.stop()
			}
		}()
		f(d)
	})
}

// start runs a pipeline, a loop and the controller, and lets a moment pass.
func (d *rig) start() {
	d.Helper()
	log := pipelinetest.Log(d.T)
	d.backend = &faulty{Backend: memory.New(d.rows, "netloom"), err: d.broken}
	var backend backends.Backend = d.backend
	if d.knows != nil {
		backend = &remembering{faulty: d.backend, knows: d.knows}
	}
	state := &state{source: d.source, pipeline: pipeline.New(d.source, translator.Options{Node: d.node, PartsOnly: d.parts}, log), coverage: target.NewCoverage(metrics.New(), log), backend: backend}
	opts := policy.Options{State: state, Node: d.node, Events: d.events, Metrics: metrics.New(), Log: log}
	if !d.mute {
		opts.Client = d.client
	}
	d.made = policy.New(opts)
	observers := reconcile.Observers{state.coverage, d.made.Observer(), &keeping{state: state, report: d.made.Kept}}
	d.guard.Target, d.guard.Log, d.guard.Observer = "ovn", log, &observers
	d.guard.Known = func(ref object.Ref) bool { _, known := d.source.Get(ref); return known }
	d.loop = reconcile.New(backend, state.pipeline.Latest, d.guard)
	state.loop = d.loop
	state.coverage.Add("ovn", backend)
	state.coverage.OnChange(d.made.Covered)
	state.pipeline.OnPublish(d.made.Published)
	state.pipeline.OnPublish(func(pipeline.Published) { d.loop.Wake() })
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.Context()))
	group, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context) error{state.pipeline.Run, d.loop.Run, d.made.Run} {
		group.Go(func() error { return run(ctx) })
	}
	d.stop = func() {
		cancel()
		require.NoError(d, group.Wait())
		d.stop = nil
	}
	d.after(2 * time.Second)
}

// state is what the controller reads.
type state struct {
	source   *pipelinetest.Source
	pipeline *pipeline.Pipeline
	coverage *target.Coverage
	backend  backends.Backend
	loop     *reconcile.Loop
}

func (s *state) Latest() *intent.Snapshot { return s.pipeline.Latest() }

func (s *state) Object(ref object.Ref) (runtime.Object, bool) { return s.source.Get(ref) }

func (s *state) Policy(ref object.Ref) (metav1.Object, bool) {
	return s.pipeline.Translator().Policy(ref)
}

func (s *state) Targets() []policy.Target {
	covered, _ := s.coverage.Of("ovn")
	return []policy.Target{{Name: "ovn", Status: s.loop.Status(), Missing: covered.Missing}}
}

// keeping reports what the target keeps after each round.
type keeping struct {
	reconcile.Observers
	state  *state
	report func([]retention.KeptObject)
}

func (k *keeping) Converged(string, intent.Revision, int) {
	k.report(retention.KeptIn("ovn", k.state.loop.Status().Kept))
}

// after lets time pass.
func (*rig) after(t time.Duration) {
	time.Sleep(t)
	synctest.Wait()
}

// policy puts a policy of a generation, with the port that it opens.
func (d *rig) policy(name string, generation int64, port int, change ...func(*networkingv1.NetworkPolicy)) {
	p := pipelinetest.Policy(name, "web", "db")
	p.Namespace, p.Generation, p.UID = "shop", generation, types.UID("uid-of-"+name)
	p.Spec.Ingress[0].Ports = []networkingv1.NetworkPolicyPort{{Port: portNumber(port)}}
	for _, f := range change {
		f(p)
	}
	d.source.Put(p)
}

// status is the status of a policy's object; nil if there is none.
func (d *rig) status(name string) *v1alpha1.PolicyStatus {
	d.Helper()
	o, err := d.client.Tracker().Get(policyStatuses, "shop", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(d, err)
	u, ok := o.(*unstructured.Unstructured)
	require.True(d, ok)
	out := &v1alpha1.PolicyStatus{}
	require.NoError(d, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out))
	return out
}

// says is the condition Enforced of a policy and the generation that is, in short.
func (d *rig) says(name string) string {
	d.Helper()
	s := d.status(name)
	if s == nil {
		return "nothing"
	}
	for _, c := range s.Status.Conditions {
		if c.Type == v1alpha1.ConditionEnforced {
			return fmt.Sprintf("%s %s %d", c.Status, c.Reason, s.Status.EnforcedGeneration)
		}
	}
	return "no condition"
}

// writes returns the requests since the last call.
func (d *rig) writes() []string {
	d.api.mu.Lock()
	defer d.api.mu.Unlock()
	out := d.api.patches
	d.api.patches = nil
	return out
}

// recorded returns the Events since the last call.
func (d *rig) recorded() []string {
	var out []string
	for {
		select {
		case e := <-d.events.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (d *rig) fail(f func(clienttesting.Action) error) {
	d.api.mu.Lock()
	defer d.api.mu.Unlock()
	d.api.fails = f
}

// ready is what readiness says.
func (d *rig) ready() string {
	return strings.Join(append([]string{"ok"}, d.made.Degraded()...), "\n") + "\n"
}

// remove deletes the object of a policy, as the garbage collector does.
func (d *rig) remove(name string) {
	d.Helper()
	require.NoError(d, d.client.Tracker().Delete(policyStatuses, "shop", name))
	d.api.mu.Lock()
	delete(d.api.owns, name)
	d.api.mu.Unlock()
}

// patch applies on the server's side, as far as a PolicyStatus needs it: each manager owns its targets, and the manager
// called netloom all else. What changes nothing leaves the version.
func (d *rig) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	p, ok := a.(clienttesting.PatchActionImpl)
	if !ok || p.GetPatchType() != types.ApplyPatchType {
		return true, nil, errors.New("expected what is applied")
	}
	manager := p.PatchOptions.FieldManager
	d.api.mu.Lock()
	defer d.api.mu.Unlock()
	d.api.patches = append(d.api.patches, strings.TrimSpace(p.GetName()+" "+p.GetSubresource()+" by "+manager))
	var content map[string]any
	if err := json.Unmarshal(p.GetPatch(), &content); err != nil {
		return true, nil, err
	}
	want := &unstructured.Unstructured{Object: content}
	found, err := d.client.Tracker().Get(policyStatuses, p.GetNamespace(), p.GetName())
	if err != nil && p.GetSubresource() != "" {
		return true, nil, apierrors.NewNotFound(policyStatuses.GroupResource(), p.GetName())
	}
	missing := err != nil
	var now *unstructured.Unstructured
	if missing {
		now = &unstructured.Unstructured{Object: map[string]any{"apiVersion": content["apiVersion"], "kind": content["kind"]}}
		now.SetNamespace(p.GetNamespace())
		now.SetName(p.GetName())
		now.SetUID(types.UID("object-" + strconv.Itoa(d.api.version)))
	} else if was, ok := found.(*unstructured.Unstructured); ok {
		now = was.DeepCopy()
	}
	if v := want.GetResourceVersion(); v != "" && v != now.GetResourceVersion() {
		return true, nil, apierrors.NewConflict(policyStatuses.GroupResource(), p.GetName(), errors.New("changed"))
	}
	before := now.DeepCopy()
	if p.GetSubresource() == "" {
		now.SetOwnerReferences(want.GetOwnerReferences())
	} else {
		d.api.merge(p.GetName(), manager, now, want)
	}
	if missing || fmt.Sprint(before.Object) != fmt.Sprint(now.Object) {
		d.api.version++
		now.SetResourceVersion(strconv.Itoa(d.api.version))
		if missing {
			err = d.client.Tracker().Create(policyStatuses, now, p.GetNamespace())
		} else {
			err = d.client.Tracker().Update(policyStatuses, now, p.GetNamespace())
		}
		if err != nil {
			return true, nil, err
		}
	}
	return true, now.DeepCopy(), nil
}

// merge sets the status of an object to what a manager applies of it.
func (a *applied) merge(name, manager string, now, want *unstructured.Unstructured) {
	had, _, _ := unstructured.NestedMap(now.Object, "status")
	wanted, _, _ := unstructured.NestedMap(want.Object, "status")
	targets := map[string]any{}
	list, _ := had["targets"].([]any)
	for _, t := range list {
		targets[fmt.Sprint(t.(map[string]any)["name"])] = t
	}
	if a.owns[name] == nil {
		a.owns[name] = map[string][]string{}
	}
	for _, gone := range a.owns[name][manager] {
		delete(targets, gone)
	}
	a.owns[name][manager] = nil
	list, _ = wanted["targets"].([]any)
	for _, t := range list {
		called := fmt.Sprint(t.(map[string]any)["name"])
		targets[called] = t
		a.owns[name][manager] = append(a.owns[name][manager], called)
	}
	out := had
	if manager == "netloom" {
		out = wanted
	}
	if out == nil {
		out = map[string]any{}
	}
	delete(out, "targets")
	if len(targets) > 0 {
		var all []any
		for _, called := range slices.Sorted(maps.Keys(targets)) {
			all = append(all, targets[called])
		}
		out["targets"] = all
	}
	_ = unstructured.SetNestedField(now.Object, out, "status")
}

// newRows is an empty target.
func newRows() *memory.Target { return memory.NewTarget() }

// put stores an object as another client writes it.
func (d *rig) put(o *v1alpha1.PolicyStatus) {
	d.Helper()
	o.APIVersion, o.Kind = v1alpha1.GroupVersion.String(), v1alpha1.KindPolicyStatus
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	require.NoError(d, err)
	require.NoError(d, d.client.Tracker().Update(policyStatuses, &unstructured.Unstructured{Object: fields}, "shop"))
}

// podAt is a pod with an address, as pod makes it.
func podAt(name, app, addr string) *corev1.Pod { return pipelinetest.Pod(name, app, "n1", addr) }

// nodeNamed is a node.
func nodeNamed(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}
