package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/netloom/netloom/pkg/config"
	"github.com/netloom/netloom/pkg/gateway"
	"github.com/netloom/netloom/pkg/gateway/credential"
	"github.com/netloom/netloom/pkg/gateway/kubeconfig"
	"github.com/netloom/netloom/pkg/gateway/registry"
)

// takenOver is a kubeconfig whose contexts are served to its owner.
type takenOver struct {
	path     string
	contexts []kubeconfig.Context
	current  string
	owner    *kubeconfig.Owner
}

// takeOver reads the kubeconfig of --from-kubeconfig; nil if there is none. Contexts that cannot be taken over are logged, and it is an
// error if none can.
func takeOver(settings *config.Gateway, log logrus.FieldLogger) (*takenOver, error) {
	if settings.FromKubeconfig == "" {
		return nil, nil
	}
	file, err := kubeconfig.Load(settings.FromKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("gateway-from-kubeconfig: %w", err)
	}
	contexts, refused := kubeconfig.Refer(file)
	if len(contexts) == 0 {
		return nil, fmt.Errorf("gateway-from-kubeconfig: no context can be taken over: %w", errors.Join(refused...))
	}
	for _, why := range refused {
		log.WithError(why).Warn("a context of the kubeconfig is not served")
	}
	owner, err := kubeconfig.NewOwner(contexts, time.Now())
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	return &takenOver{path: settings.FromKubeconfig, contexts: contexts, current: file.CurrentContext, owner: owner}, nil
}

// apply restricts a gateway to the owner.
func (t *takenOver) apply(opts *gateway.Options) {
	opts.OwnerOnly = true
	opts.Users = credential.NewUsers(t.path)
	opts.Certificate = func() (*tls.Certificate, error) { return &t.owner.Certificate, nil }
}

// serve adds the clusters to a gateway. Nothing changes them.
func (t *takenOver) serve(g *gateway.Gateway) (run func(context.Context) error, state func() registry.State, err error) {
	for _, c := range t.contexts {
		if err := g.Clusters().Put(c.Object); err != nil {
			return nil, nil, fmt.Errorf("context %q: %w", c.Name, err)
		}
	}
	run = func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}
	return run, func() registry.State { return registry.State{Synced: true} }, nil
}

// announce writes the owner's kubeconfig to a file, or to out.
func (t *takenOver) announce(at net.Addr, file string, out io.Writer) error {
	text, err := t.owner.Kubeconfig(at, t.contexts, t.current)
	if err != nil {
		return err
	}
	if file == "" {
		_, err = out.Write(text)
		return err
	}
	if err := kubeconfig.Write(file, text); err != nil {
		return err
	}
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	_, err = fmt.Fprintf(out, "export KUBECONFIG=%s\n", file)
	return err
}

// checkKubeconfig prints the result of --check for a kubeconfig. With connect, every API server is tried.
func checkKubeconfig(cmd *cobra.Command, path string, connect bool) error {
	file, err := kubeconfig.Load(path)
	if err != nil {
		return err
	}
	contexts, faults := kubeconfig.Refer(file)
	for _, c := range contexts {
		expiry := ""
		if connect {
			whole, fault := obtain(cmd.Context(), c.Object, path)
			if fault == nil {
				fault = gateway.TryAsOwner(cmd.Context(), whole, time.Now())
			}
			if fault != nil {
				faults = append(faults, fmt.Errorf("context %q: %w", c.Name, fault))
				continue
			}
			expiry = expiryOf(whole)
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "context %s: can be taken over, as %s%s\n", c.Name, c.Object.Name, expiry); err != nil {
			return err
		}
	}
	return errors.Join(faults...)
}
