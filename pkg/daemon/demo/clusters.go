package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	examples "github.com/netloom/netloom/deploy/examples/clusters"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// clusterNames are the clusters of the example, each with a directory of its name.
func clusterNames() []string { return []string{"a", "b"} }

// clusters shows several clusters, each with a daemon and a database of its own.
type clusters struct {
	w     io.Writer
	dir   string
	shows map[string]*show // by the name of the cluster
}

// runClusters shows the demo of two clusters.
func runClusters(ctx context.Context, opts Options, w io.Writer, log logrus.FieldLogger) error {
	dir, err := os.MkdirTemp("", "netloom-clusters-")
	if err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, examples.Files); err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	all := &clusters{w: w, dir: dir, shows: map[string]*show{}}
	var running []func(context.Context) error
	for _, name := range clusterNames() {
		s, client, err := all.newShow(opts, name, log)
		if err != nil {
			return err
		}
		defer s.daemon.Close()
		all.shows[name] = s
		running = append(running, s.daemon.Run, client.Run)
	}
	return run(ctx, running, func(ctx context.Context) error { return all.play(ctx, opts.Once) })
}

// newShow makes the daemon of a cluster, which reads the others, and what shows it.
func (c *clusters) newShow(opts Options, name string, log logrus.FieldLogger) (*show, *ovsdb.Client, error) {
	settings := daemon.Options{
		Manifests: filepath.Join(c.dir, name), Cluster: name,
		Target: builtin.Settings{Owner: demoOwner, OVN: ovn.Settings{
			Endpoints: []string{ovn.Embedded}, PortNames: ovn.DefaultPortNames,
		}},
		Reconcile: reconcile.Options{MaxDeleteFraction: 1, MaxInterval: reconcile.DefaultMaxInterval},
		UIListen:  opts.UIListen,
	}
	for _, other := range clusterNames() {
		if other != name {
			settings.Others.Clusters = append(settings.Others.Clusters, daemon.Other{Name: other, Manifests: filepath.Join(c.dir, other)})
		}
	}
	d, err := daemon.New(settings, log)
	if err != nil {
		return nil, nil, err
	}
	client, err := ovsdb.New(ovsdb.Options{Endpoints: d.DatabaseAddress(), Log: log})
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	s := &show{
		w: c.w, color: opts.Color, dir: settings.Manifests, client: client, daemon: d, target: builtin.OVN, podPorts: newPodPorts(),
		changes: make(chan change, 16), published: make(chan struct{}, 1), synced: make(chan struct{}, 1),
	}
	d.Observe(s)
	d.OnPublish(func(p pipeline.Published) {
		s.podPorts.update(p.Events, d.Object)
		s.publish()
	})
	return s, client, nil
}

// play prints the first state of every cluster, changes a label in one of them, prints what that changes, and then every change.
func (c *clusters) play(ctx context.Context, once bool) error {
	for _, name := range clusterNames() {
		if err := c.first(ctx, name); err != nil {
			return err
		}
	}
	wrong, err := c.printProbes(ctx, "probes.txt")
	if err != nil {
		return err
	}
	if err := c.relabel(ctx); err != nil {
		return err
	}
	more, err := c.printProbes(ctx, "relabeled.txt")
	if err != nil {
		return err
	}
	if wrong += more; once {
		if wrong > 0 {
			return fmt.Errorf("%d probes were not answered as expected", wrong)
		}
		return nil
	}
	screen := c.shows[clusterNames()[0]]
	for _, name := range clusterNames() {
		if page := c.shows[name].daemon.UIAddress(); page != "" {
			screen.printf("\nThe web page of cluster %s: %s", name, page)
		}
	}
	screen.printf("\n%s Edit a file in %s and see what changes in both clusters. Press Ctrl-C to stop.\n", screen.bold("Watching."), c.dir)
	return c.follow(ctx)
}

// first prints the first state of a cluster.
func (c *clusters) first(ctx context.Context, name string) error {
	s := c.shows[name]
	first, err := s.first(ctx, true)
	if err != nil {
		return fmt.Errorf("cluster %s: %w", name, err)
	}
	s.printf("%s\n\n", s.bold("Cluster "+name+", written: "+first.plan.Summary()))
	if _, err := s.printDatabase(ctx); err != nil {
		return err
	}
	s.printProblems()
	return nil
}

// The label that the demo changes, in the manifests of a pod of cluster b.
const (
	relabeledPod = "name: web-0, namespace: shop, labels: {app: web}"
	relabeledAs  = "name: web-0, namespace: shop, labels: {app: checkout}"
)

// relabel changes the label of a pod in cluster b, and prints what each cluster writes.
func (c *clusters) relabel(ctx context.Context) error {
	path, draft := filepath.Join(c.dir, "b", "shop.yaml"), filepath.Join(c.dir, "b", ".shop.yaml")
	text, err := os.ReadFile(path) //nolint:gosec // the demo made it
	if err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	err = os.WriteFile(draft, bytes.Replace(text, []byte(relabeledPod), []byte(relabeledAs), 1), 0o600) //nolint:gosec // in the same directory
	if err = errors.Join(err, os.Rename(draft, path)); err != nil {
		return fmt.Errorf("examples: %w", err)
	}
	screen := c.shows[clusterNames()[0]]
	screen.printf("\n%s\n", screen.bold("Cluster b: shop/web-0 gets the label app=checkout"))
	limit := time.After(patience)
	for _, name := range clusterNames() {
		s := c.shows[name]
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("cluster %s: nothing was written within %s", name, patience)
		case written := <-s.changes:
			s.printf("\n%s\n", s.bold("Cluster "+name))
			if err := written.plan.Write(s.w, s.color); err != nil {
				return err
			}
		}
	}
	screen.printf("\n")
	return nil
}

// follow prints what is written from now on.
func (c *clusters) follow(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	var printing sync.Mutex
	for name, s := range c.shows {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case written := <-s.changes:
					printing.Lock()
					err := s.printChange(name, written)
					printing.Unlock()
					if err != nil {
						return err
					}
				}
			}
		})
	}
	return group.Wait()
}

// printChange prints what was written for a cluster.
func (s *show) printChange(cluster string, c change) error {
	s.printf("\n%s\n", s.bold(fmt.Sprintf("%s  cluster %s, written in %s", time.Now().Format(time.TimeOnly), cluster, c.took.Round(time.Microsecond))))
	if err := c.plan.Write(s.w, s.color); err != nil {
		return err
	}
	s.printProblems()
	return nil
}

// printProbes runs the probes of a file on the rows of both clusters, and counts the unexpected results.
func (c *clusters) printProbes(ctx context.Context, file string) (wrong int, err error) {
	probes, err := readProbes(c.dir, file)
	if err != nil {
		return 0, err
	}
	tracers := map[string]*nbtrace.Tracer{}
	for name, s := range c.shows {
		rows, err := nbtrace.Load(ctx, s.client)
		if err != nil {
			return 0, err
		}
		if tracers[name], err = nbtrace.New(rows); err != nil {
			return 0, err
		}
	}
	screen := c.shows[clusterNames()[0]]
	screen.printf("%s\n", screen.bold("Can A reach B? Answered from the rows of both clusters"))
	for _, p := range probes {
		result, err := c.trace(tracers, p)
		if err != nil {
			return wrong, fmt.Errorf("probe %q: %w", p.text, err)
		}
		got := deny
		if result.Allowed {
			got = allow
		}
		wrong += screen.printAnswer(p, got, decided(result))
	}
	return wrong, nil
}

// trace follows a packet out of the cluster of its source and into that of its destination.
func (c *clusters) trace(tracers map[string]*nbtrace.Tracer, p probeLine) (nbtrace.Result, error) {
	from, src, err := c.end(p.src)
	if err != nil {
		return nbtrace.Result{}, err
	}
	to, dst, err := c.end(p.dst)
	if err != nil {
		return nbtrace.Result{}, err
	}
	packet := nbtrace.Packet{Src: src.addrs[0], Dst: dst.addrs[0], Protocol: uint8(p.protocol), SrcPort: 40000, DstPort: p.port}
	if from == to {
		packet.Inport, packet.Outport = src.port, dst.port
		return tracers[from].Trace(packet), nil
	}
	leaving, entering := packet, packet
	leaving.Inport, entering.Outport = src.port, dst.port
	out, in := tracers[from].Trace(leaving), tracers[to].Trace(entering)
	return nbtrace.Result{Allowed: out.Allowed && in.Allowed, Egress: out.Egress, Ingress: in.Ingress}, nil
}

// end finds a pod by CLUSTER/NAMESPACE/NAME.
func (c *clusters) end(name string) (string, end, error) {
	cluster, pod, _ := strings.Cut(name, "/")
	if !slices.Contains(clusterNames(), cluster) {
		return "", end{}, fmt.Errorf("%s: there is no such cluster", name)
	}
	e, err := c.shows[cluster].end(pod)
	if err == nil && (e.port == "" || len(e.addrs) == 0) {
		err = errors.New("expected a pod with an address")
	}
	return cluster, e, err
}
