package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// pluginPrefix is the prefix of binaries that kubectl runs as plugins.
const pluginPrefix = "kubectl-"

// autoServer selects the daemon that runs in the cluster.
const autoServer = "auto"

// fetchWait is how long a daemon may take to list its objects.
const fetchWait = 30 * time.Second

// liveFlag is a cluster in place of manifests.
type liveFlag struct {
	server, kubeconfig, context, as string
	asGroups                        []string
}

// bindLive adds the flags that select a running daemon or a cluster to a command.
func (f *liveFlag) bindLive(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "read objects from a running daemon at its debug-listen address; auto finds the daemon in the cluster of --kubeconfig")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of a cluster to read instead of manifests (default KUBECONFIG; as a kubectl plugin, also ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig file; default: the current context")
	flags.StringVar(&f.as, "as", "", "user to read the cluster as, which your own user must be allowed to impersonate")
	flags.StringArrayVar(&f.asGroups, "as-group", nil, "group to read the cluster as, with --as; may be repeated")
}

// isPlugin reports whether netloom runs as a kubectl plugin.
func isPlugin() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), pluginPrefix) }

// given reports whether a daemon or a cluster is selected.
func (f *liveFlag) given() bool {
	return f.server != "" || f.kubeconfig != "" || f.context != "" || isPlugin() || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != ""
}

// file is the selected kubeconfig.
func (f *liveFlag) file() string {
	if f.kubeconfig != "" {
		return f.kubeconfig
	}
	return clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename()
}

// defaultKubeconfig is the kubeconfig file that kubectl uses; "" in a pod, and if there is none.
func defaultKubeconfig() string {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		return ""
	}
	path := clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename()
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// contextNamespace is the namespace of the selected context; "" if it has none.
func (f *liveFlag) contextNamespace() string {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.file()}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	namespace, _, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).Namespace()
	if err != nil {
		return ""
	}
	return namespace
}

// fetch lists the objects of a daemon or a cluster as manifests. A cluster that refuses to list all namespaces is asked for one; "" is that
// of the context.
func (f *liveFlag) fetch(cmd *cobra.Command, namespace string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(cmd.Context(), fetchWait)
	defer cancel()
	defer progress(cmd, "reading the cluster")()
	switch f.server {
	case "":
		log := logrus.New()
		log.SetOutput(cmd.ErrOrStderr())
		log.SetLevel(logrus.WarnLevel)
		opts := daemon.Options{
			Kubeconfig: f.file(), KubeContext: f.context, As: f.as, AsGroups: f.asGroups, Read: source.Options{Questions: true}, Beyond: true,
		}
		all, err := daemon.ManifestsOnce(ctx, opts, log)
		opts.OnlyNamespace = cmp.Or(namespace, f.contextNamespace())
		switch {
		case !apierrors.IsForbidden(err):
			return all, err
		case opts.OnlyNamespace == "":
			return nil, fmt.Errorf("%w; with -n NAMESPACE, only that namespace is read", err)
		}
		one, again := daemon.ManifestsOnce(ctx, opts, log)
		if again != nil {
			return nil, errors.Join(err, again)
		}
		cmd.PrintErrf("note: only namespace %s was read: %v\n", opts.OnlyNamespace, err)
		return one, nil
	case autoServer:
		return fetchManifests(ctx, kube.Login{Kubeconfig: f.file(), Context: f.context, As: f.as, AsGroups: f.asGroups})
	default:
		return f.get(ctx, "/debug/manifests")
	}
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
	body, err := request(ctx, http.DefaultClient, method, strings.TrimSuffix(url, "/")+path)
	switch failed := (*neturl.Error)(nil); {
	case errors.As(err, &failed) && failed.Op != "parse":
		return nil, fmt.Errorf("--server: %w (in a cluster, use --server auto or kubectl port-forward)", err)
	case err != nil:
		return nil, fmt.Errorf("--server: %w", err)
	}
	return body, nil
}
