package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/netloom/netloom/pkg/daemon"
)

// pluginPrefix is the prefix of binaries that kubectl runs as plugins.
const pluginPrefix = "kubectl-"

// autoServer selects the daemon that runs in the cluster.
const autoServer = "auto"

// fetchWait is how long a daemon may take to list its objects.
const fetchWait = 30 * time.Second

// liveFlag is a cluster in place of manifests.
type liveFlag struct{ server, kubeconfig, context string }

// bindLive adds the flags that select a running daemon or a cluster to a command.
func (f *liveFlag) bindLive(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "read objects from a running daemon at its debug-listen address; auto finds the daemon in the cluster of --kubeconfig")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster to read instead of manifests; as a kubectl plugin, default KUBECONFIG or ~/.kube/config")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig file; default: the current context")
}

// isPlugin reports whether netloom runs as a kubectl plugin.
func isPlugin() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), pluginPrefix) }

// given reports whether a daemon or a cluster is selected.
func (f *liveFlag) given() bool {
	return f.server != "" || f.kubeconfig != "" || f.context != "" || isPlugin()
}

// file is the selected kubeconfig.
func (f *liveFlag) file() string {
	if f.kubeconfig != "" {
		return f.kubeconfig
	}
	return clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename()
}

// fetch lists the objects of a daemon or a cluster as manifests.
func (f *liveFlag) fetch(cmd *cobra.Command) ([]byte, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), fetchWait)
	defer cancel()
	defer progress(cmd, "reading the cluster")()
	switch f.server {
	case "":
		log := logrus.New()
		log.SetOutput(cmd.ErrOrStderr())
		log.SetLevel(logrus.WarnLevel)
		return daemon.ManifestsOnce(ctx, daemon.Options{Kubeconfig: f.file(), KubeContext: f.context}, log)
	case autoServer:
		return fetchManifests(ctx, f.file(), f.context)
	}
	return f.get(ctx, "/debug/manifests")
}

// get requests a path from the daemon.
func (f *liveFlag) get(ctx context.Context, path string) ([]byte, error) {
	return f.ask(ctx, http.MethodGet, path)
}

// ask sends the daemon a request without a body.
func (f *liveFlag) ask(ctx context.Context, method, path string) ([]byte, error) {
	url := f.server
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(url, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("--server: %w (in a cluster, use --server auto or kubectl port-forward)", err)
	}
	defer answer.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("--server: %s: %s", answer.Status, bytes.TrimSpace(body))
	}
	return body, nil
}
