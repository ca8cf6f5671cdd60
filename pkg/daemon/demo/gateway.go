package demo

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/kubeconfig"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// contextPrefix is what the names of the contexts begin with; the name of the cluster follows.
const contextPrefix = "cluster-"

// guarded shows the gateway in front of simulated API servers.
type guarded struct {
	w        io.Writer
	color    bool
	servers  map[string]*standIn // by context
	contexts []kubeconfig.Context
	owner    *kubeconfig.Owner
	gateway  *gateway.Gateway
	listener net.Listener
	text     []byte // the owner's kubeconfig
}

// runGateway shows the gateway in front of two simulated API servers.
func runGateway(ctx context.Context, opts Options, w io.Writer, log logrus.FieldLogger) error {
	g := &guarded{w: w, color: opts.Color, servers: map[string]*standIn{}}
	var running []func(context.Context) error
	config := api.NewConfig()
	for _, name := range clusterNames() {
		server, err := newStandIn(ctx, name, log)
		if err != nil {
			return err
		}
		g.servers[contextPrefix+name] = server
		server.describe(config, contextPrefix+name)
		running = append(running, server.run)
	}
	err := g.build(ctx, config, log)
	if g.gateway != nil {
		defer g.gateway.Close()
	}
	if err != nil {
		return err
	}
	running = append(running, func(ctx context.Context) error {
		return g.gateway.Serve(ctx, g.listener, gateway.Shutdown{Grace: 2 * time.Second})
	})
	return run(ctx, running, func(ctx context.Context) error { return g.play(ctx, opts.Once) })
}

// build makes the gateway as `netloom gateway --from-kubeconfig` does.
func (g *guarded) build(ctx context.Context, config *api.Config, log logrus.FieldLogger) error {
	var refused []error
	if g.contexts, refused = kubeconfig.TakeOver(config); len(refused) > 0 {
		return errors.Join(refused...)
	}
	var err error
	if g.owner, err = kubeconfig.NewOwner(g.contexts, time.Now()); err != nil {
		return err
	}
	g.gateway = gateway.New(context.WithoutCancel(ctx), gateway.Options{
		Log: log, OwnerOnly: true, Certificate: func() (*tls.Certificate, error) { return &g.owner.Certificate, nil },
	})
	g.gateway.Source(func() registry.State { return registry.State{Synced: true} })
	for _, c := range g.contexts {
		if err := g.gateway.Clusters().Put(c.Object); err != nil {
			return err
		}
	}
	if g.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	g.text, err = g.owner.Kubeconfig(g.listener.Addr(), g.contexts, "")
	return err
}

// play shows what each cluster has, who is refused, and a watch; then it changes a pod again and again.
func (g *guarded) play(ctx context.Context, once bool) error {
	dir, err := os.MkdirTemp("", "netloom-gateway-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "kubeconfig")
	if err := kubeconfig.Write(file, g.text); err != nil {
		return err
	}
	if err := g.awaitReady(ctx); err != nil {
		return err
	}
	g.printf("%s\n", g.bold("Two API servers behind one address: https://"+g.listener.Addr().String()))
	for _, c := range g.contexts {
		if err := g.show(ctx, c.Name); err != nil {
			return err
		}
	}
	if err := g.stranger(ctx); err != nil {
		return err
	}
	if err := g.watched(ctx); err != nil || once {
		return err
	}
	g.printf("\n%s Only the holder of this kubeconfig is served:\n\n  export KUBECONFIG=%s\n", g.bold("Try it."), file)
	for _, c := range g.contexts {
		g.printf("  kubectl --context %s get namespaces,pods -A\n", c.Name)
	}
	g.printf("  kubectl --context %s -n shop get pods -L app --watch   # a label changes every few seconds\n\nPress Ctrl-C to stop.\n", changing)
	return g.change(ctx)
}

// awaitReady waits until all API servers are ready.
func (g *guarded) awaitReady(ctx context.Context) error {
	limit := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := 0
		for _, c := range g.contexts {
			for _, e := range g.gateway.Clusters().Endpoints(c.Object.Name) {
				if e.Ready {
					ready++
				}
			}
		}
		if ready == len(g.contexts) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			return fmt.Errorf("the API servers were not ready within %s", patience)
		case <-tick.C:
		}
	}
}

// client is the owner's client for a context.
func (g *guarded) client(name string) (kubernetes.Interface, error) {
	config, err := g.config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// config is what the owner's kubeconfig says of a context.
func (g *guarded) config(name string) (*rest.Config, error) {
	file, err := clientcmd.Load(g.text)
	if err != nil {
		return nil, err
	}
	return clientcmd.NewNonInteractiveClientConfig(*file, name, nil, nil).ClientConfig()
}

// show prints the pods of a cluster.
func (g *guarded) show(ctx context.Context, name string) error {
	client, err := g.client(name)
	if err != nil {
		return err
	}
	pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	g.printf("\n%s\n", g.bold("Context "+name))
	for i := range pods.Items {
		p := &pods.Items[i]
		g.printf("  %s/%s   %s\n", p.Namespace, p.Name, p.Status.PodIP)
	}
	return nil
}

// stranger asks as a program on the same machine that knows a token of the API server, but not the owner's key.
func (g *guarded) stranger(ctx context.Context) error {
	config, err := g.config(g.contexts[0].Name)
	if err != nil {
		return err
	}
	config.CertData, config.KeyData, config.BearerToken = nil, nil, g.servers[g.contexts[0].Name].token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	code := 0
	result := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/pods").Do(ctx).StatusCode(&code)
	if code != http.StatusUnauthorized {
		return fmt.Errorf("a client without the owner's certificate got %d, and not 401: %w", code, result.Error())
	}
	g.printf("\n%s\n  %s\n", g.bold("A client without the certificate, with a valid token of that cluster"), result.Error())
	return nil
}

// The pod whose label changes, in a context.
const (
	changing    = contextPrefix + "b"
	changingPod = "web-0"
)

// watched prints the event that a client sees of a change.
func (g *guarded) watched(ctx context.Context) error {
	client, err := g.client(changing)
	if err != nil {
		return err
	}
	pods := client.CoreV1().Pods("shop")
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	events, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	defer events.Stop()
	if err := g.servers[changing].relabel(); err != nil {
		return err
	}
	select {
	case e := <-events.ResultChan():
		pod, ok := e.Object.(metav1.Object)
		if !ok {
			return fmt.Errorf("the watch ended: %v", e.Object)
		}
		g.printf("\n%s\n  %s %s/%s   app=%s\n", g.bold("A watch through the gateway"), e.Type, pod.GetNamespace(), pod.GetName(), pod.GetLabels()["app"])
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// change changes the label of the pod until ctx ends.
func (g *guarded) change(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := g.servers[changing].relabel(); err != nil {
				return err
			}
		}
	}
}

func (g *guarded) printf(format string, args ...any) { _, _ = fmt.Fprintf(g.w, format, args...) }

func (g *guarded) bold(text string) string { return (&show{color: g.color}).bold(text) }
