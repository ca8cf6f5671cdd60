package sdwan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/netloom/netloom/pkg/apis/sdewan/v1alpha1"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/sdwan/status"
	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/openwrt"
)

// kindCNFStatus is the kind of the objects that show CNFs.
const kindCNFStatus = "CNFStatus"

// CNFStatusName is the name of the CNFStatus that is created if there is none.
const CNFStatusName = "cnf-status"

// reportTimeout is how long a report of a CNF may take.
const reportTimeout = 10 * time.Second

// reporter is a CNF that may return a report.
type reporter struct {
	cnf    *intent.CNF
	target string
	client *openwrt.Client // nil if it cannot be reached now
}

// reports collects reports of CNFs and shows them in CNFStatus objects. It changes nothing on a CNF: a tunnel that is down may
// come up by itself.
type reports struct {
	interval  time.Duration
	namespace string // whose CNFStatus objects show all CNFs
	env       Environment
	reporters func() []reporter
	writer    *writer // nil writes nothing

	mu    sync.Mutex
	known map[object.Ref]bool // CNFStatus objects
}

func newReports(opts Options, env Environment, w *writer, reporters func() []reporter) *reports {
	return &reports{
		interval: opts.StatusInterval, namespace: opts.StatusNamespace, env: env, reporters: reporters, writer: w,
		known: map[object.Ref]bool{},
	}
}

// Published takes in CNFStatus objects that may have changed. The goroutine of the pipeline calls it.
func (r *reports) Published(changed []object.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ref := range changed {
		if ref.Kind != kindCNFStatus {
			continue
		}
		if _, ok := r.env.Objects.Get(ref); ok {
			r.known[ref] = true
		} else {
			delete(r.known, ref)
		}
	}
}

// Run collects reports until ctx ends, one round after the other.
func (r *reports) Run(ctx context.Context) error {
	for feedback.Wait(ctx, r.interval) {
		gathered := r.collect(ctx)
		if ctx.Err() == nil && r.writer != nil {
			r.show(ctx, gathered)
		}
	}
	return nil
}

// gathered is the report of one CNF; nil if it returned none.
type gathered struct {
	reporter
	report status.Report
}

// collect requests the reports of all CNFs at the same time.
func (r *reports) collect(ctx context.Context) []gathered {
	all := r.reporters()
	out := make([]gathered, len(all))
	ctx, cancel := context.WithTimeout(ctx, min(reportTimeout, r.interval))
	defer cancel()
	var work sync.WaitGroup
	for i, one := range all {
		out[i].reporter = one
		if one.client == nil {
			r.env.Metrics.NoTunnels(one.target)
			continue
		}
		work.Go(func() { out[i].report = r.ask(ctx, one) })
	}
	work.Wait()
	return out
}

// ask requests the report of one CNF; nil if it returns none.
func (r *reports) ask(ctx context.Context, one reporter) status.Report {
	modules, err := one.client.Status(ctx)
	r.env.Metrics.Reported(one.target, err == nil)
	if err != nil {
		r.env.Metrics.NoTunnels(one.target)
		r.env.Log.WithError(err).WithField("target", one.target).Debug("the CNF returned no report")
		return nil
	}
	report := make(status.Report, len(modules))
	for i, m := range modules {
		report[i] = status.Module{Name: m.Name, Status: m.Status}
		if m.TooLarge {
			report[i].Omitted = "all of it: too long"
		}
	}
	if t, ok := report.Tunnels(); ok {
		r.env.Metrics.Tunnels(one.target, t.Up, t.Connecting, t.Complete)
	} else {
		r.env.Metrics.NoTunnels(one.target)
	}
	return report
}

// show writes every CNFStatus, and creates the one for all CNFs if it is missing. What fails is retried next time.
func (r *reports) show(ctx context.Context, all []gathered) {
	r.mu.Lock()
	refs := slices.SortedFunc(maps.Keys(r.known), object.Ref.Compare)
	r.mu.Unlock()
	if !slices.ContainsFunc(refs, func(ref object.Ref) bool { return ref.Namespace == r.namespace }) {
		ref := object.Ref{Kind: kindCNFStatus, Namespace: r.namespace, Name: CNFStatusName}
		if err := r.create(ctx, ref); err != nil {
			r.env.Log.WithError(err).Debug("cannot create the CNFStatus of all CNFs")
		} else {
			refs = append(refs, ref)
		}
	}
	for _, ref := range refs {
		if err := r.write(ctx, ref, all); err != nil {
			r.env.Log.WithError(err).WithField("object", ref.String()).Warn("cannot write the reports of CNFs")
		}
	}
}

func (r *reports) create(ctx context.Context, ref object.Ref) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": ref.Kind,
		"metadata": map[string]any{"namespace": ref.Namespace, "name": ref.Name}, "spec": map[string]any{},
	}}
	_, err := r.writer.of(ref).Create(ctx, o, metav1.CreateOptions{FieldManager: feedback.FieldManager})
	r.writer.refused.Note("create "+pluralOf(ref.Kind), err)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s: %w", ref, err)
	}
	return nil
}

// write shows in one CNFStatus the CNFs of its namespace, or all. The object is read first: only netloom writes its status,
// and it is large.
func (r *reports) write(ctx context.Context, ref object.Ref, all []gathered) error {
	o, err := r.writer.Read(ctx, ref)
	cnf, ok := o.(*v1alpha1.CNFStatus)
	if err != nil || !ok {
		return err
	}
	concerns := slices.DeleteFunc(slices.Clone(all), func(g gathered) bool {
		return ref.Namespace != r.namespace && g.cnf.Origin.Namespace != ref.Namespace
	})
	now := feedback.Now()
	return r.writer.Replace(ctx, ref, cnf, status.Shown(&cnf.Status, cnf.Generation, information(concerns), now))
}

// information converts reports for a CNFStatus, ordered by namespace and name.
func information(of []gathered) []v1alpha1.CNFInformation {
	out := make([]v1alpha1.CNFInformation, 0, len(of))
	for _, g := range of {
		i := v1alpha1.CNFInformation{
			Name: g.cnf.Origin.Name, Namespace: g.cnf.Origin.Namespace, Node: g.cnf.Node,
			Purpose: g.cnf.Scope.Purpose, Status: status.NotAvailable,
		}
		if g.cnf.Addr.IsValid() {
			i.IP = g.cnf.Addr.String()
		}
		if g.report != nil {
			i.Status = g.report.Text(status.Limit(len(of)))
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b v1alpha1.CNFInformation) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return out
}
