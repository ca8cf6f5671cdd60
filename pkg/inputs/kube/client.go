package kube

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// A source needs only a handful of lists and watches; status is written through the same client.
const (
	clientQPS   = 50
	clientBurst = 100
)

// Login is an API, and as whom to use it.
type Login struct {
	Transport  http.RoundTripper // reaches it, with credentials and limits of its own; nil is by the fields that follow
	Kubeconfig string            // file; "" is the cluster that the process runs in
	Context    string            // of the file; "" is the current one
	// As is the user to act as, and AsGroups its groups: the user of the context needs permission to impersonate them. "" is that user.
	As       string
	AsGroups []string
}

// Client connects to an API. It fails on an unusable configuration, not on an API that cannot be reached.
func Client(login Login) (kubernetes.Interface, error) {
	config, err := Config(login)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	return client, nil
}

// Config returns the configuration of Client, for other clients of the same API.
func Config(login Login) (*rest.Config, error) {
	if login.Transport != nil {
		return Through(login.Transport), nil
	}
	config, err := loadConfig(login.Kubeconfig, login.Context)
	if err != nil {
		return nil, err
	}
	config.Impersonate = rest.ImpersonationConfig{UserName: login.As, Groups: login.AsGroups}
	config.QPS, config.Burst = clientQPS, clientBurst
	present(config)
	return config, nil
}

// Through returns the configuration of an API that a transport reaches, which has credentials and limits of its own.
func Through(transport http.RoundTripper) *rest.Config {
	config := &rest.Config{Host: "https://upstream", Transport: transport, QPS: -1}
	present(config)
	return config
}

// present sets how requests look that a configuration is for.
func present(config *rest.Config) {
	config.UserAgent = "netloom/" + version()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	// A page is bounded before it is trimmed, which reads all of it.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return trimming{paging{next}} })
}

func loadConfig(kubeconfig, contextName string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("connect to the cluster netloom runs in: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: contextName},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

// version returns the version the binary was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
