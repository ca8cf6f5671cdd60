package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/examples"
	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/pipeline"
	"github.com/netloom/netloom/pkg/reconcile"
)

// Options configures the demo.
type Options struct {
	Manifests string   // directory; "" runs the examples that are built in
	Once      bool     // ends after the first answers
	Listen    string   // address of the HTTP server; "" serves nothing
	UIListen  string   // address of the web page; "" serves none
	ACLLogs   []string // logs of ovn-controller that the page shows connections from
	Clusters  int      // 2 shows two clusters with policies across them; 0 and 1 show one
	Tungsten  bool     // writes to a simulated Tungsten Fabric controller instead of a database of OVN
	Gateway   bool     // shows the gateway in front of two simulated API servers, and no policies
	Color     bool

	deviceInterval time.Duration // between two read-backs of a simulated device; 0 means the default
}

// patience is how long the first answer may take.
const patience = 30 * time.Second

// Run shows the demo on w until ctx ends, or with Once until it has shown everything. It fails if the result of a probe was
// not the expected one.
func Run(ctx context.Context, opts Options, w io.Writer, log logrus.FieldLogger) error {
	if opts.Once {
		opts.UIListen = "" // there is no time to look
	}
	if opts.Gateway {
		return runGateway(ctx, opts, w, log)
	}
	switch opts.Clusters {
	case 0, 1:
	case len(clusterNames()):
		return runClusters(ctx, opts, w, log)
	default:
		return fmt.Errorf("--clusters: %d: expected 1 or %d", opts.Clusters, len(clusterNames()))
	}
	dir, clean, err := manifests(opts.Manifests)
	if err != nil {
		return err
	}
	defer clean()
	if opts.Tungsten {
		return runController(ctx, opts, dir, w, log)
	}
	functions := newDevices()
	defer functions.close()
	settings := daemon.Options{
		Manifests: dir,
		Target: builtin.Settings{Owner: demoOwner, OVN: ovn.Settings{
			Endpoints: []string{ovn.Embedded}, PortNames: ovn.DefaultPortNames,
		}},
		Reconcile:   reconcile.Options{MaxDeleteFraction: 1, MaxInterval: reconcile.DefaultMaxInterval},
		DebugListen: opts.Listen,
		UIListen:    opts.UIListen,
		ACLLogs:     opts.ACLLogs,
	}
	if opts.Manifests != "" {
		settings.SDWAN = sdwanOptions(functions, opts)
	}
	d, err := daemon.New(settings, log)
	if err != nil {
		return err
	}
	defer d.Close()
	client, err := ovsdb.New(ovsdb.Options{Endpoints: d.DatabaseAddress(), Log: log})
	if err != nil {
		return err
	}
	s := &show{
		w: w, color: opts.Color, dir: dir, client: client, daemon: d, target: builtin.OVN, podPorts: newPodPorts(), changes: make(chan change, 16),
		published: make(chan struct{}, 1), synced: make(chan struct{}, 1),
	}
	d.Observe(s)
	d.OnPublish(func(p pipeline.Published) {
		s.podPorts.update(p.Events, d.Object)
		s.publish()
	})
	running := []func(context.Context) error{d.Run, client.Run}
	if opts.Manifests != "" {
		s.cnfs = newCNFs(s, d, dir, functions)
	} else {
		branch, where, end, err := newBranch(opts, functions, log)
		if err != nil {
			return err
		}
		defer end()
		s.cnfs = newCNFs(s, branch, where, functions)
		running = append(running, branch.Run)
	}
	return run(ctx, running, func(ctx context.Context) error { return s.play(ctx, opts.Once) })
}

// run runs daemons and a client alongside play, and ends them with it.
func run(ctx context.Context, beside []func(context.Context) error, play func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(beside))
	for _, f := range beside {
		go func() { ended <- f(ctx) }()
	}
	played := make(chan error, 1)
	go func() { played <- play(ctx) }()

	var faults []error
	left := len(beside)
	select {
	case err := <-played:
		cancel()
		faults = append(faults, err)
	case err := <-ended:
		left--
		cancel()
		faults = append(faults, err, <-played)
	}
	for range left {
		faults = append(faults, <-ended)
	}
	// Those that were ended did not fail, but must not hide the one that ended them.
	return errors.Join(slices.DeleteFunc(faults, func(err error) bool { return errors.Is(err, context.Canceled) })...)
}

// manifests returns the directory to run, a copy of the built-in examples if none is given.
func manifests(dir string) (string, func(), error) {
	if dir != "" {
		return dir, func() {}, nil
	}
	return unpacked("examples", probesFile, examples.Files)
}

// unpacked returns a directory of examples: the one in the working directory, recognized by a file in it, or a copy of the
// built-in ones.
func unpacked(beside, file string, files fs.FS) (string, func(), error) {
	if _, err := os.Stat(filepath.Join(beside, file)); err == nil {
		return beside, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "netloom-"+filepath.Base(beside)+"-")
	if err != nil {
		return "", nil, fmt.Errorf("examples: %w", err)
	}
	clean := func() { _ = os.RemoveAll(dir) }
	if err := os.CopyFS(dir, files); err != nil {
		clean()
		return "", nil, fmt.Errorf("examples: %w", err)
	}
	return dir, clean, nil
}
