package daemon

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/watch"
)

// clients are the ways to one Kubernetes API, for whatever is not read through the source.
type clients struct {
	config *rest.Config
	core   kubernetes.Interface
}

// newSource makes the source that opts ask for, the clients that SD-WAN lacks, and those of the API where there is one.
func newSource(opts *Options, log logrus.FieldLogger) (watch.Source, *clients, error) {
	if opts.Source != nil {
		return opts.Source, nil, nil
	}
	if opts.Manifests != "" {
		directory := watch.NewDirectory(opts.Manifests, opts.Watch, log)
		if opts.SDWAN.Secrets == nil {
			opts.SDWAN.Secrets = directory
		}
		return directory, nil, nil
	}
	config, err := watch.KubernetesConfig(opts.Kubeconfig, opts.KubeContext)
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	if err := opts.SDWAN.clients(config, client); err != nil {
		return nil, nil, err
	}
	if opts.SDWAN.Enabled && opts.Watch.SDWAN == nil {
		opts.Watch.SDWAN = opts.SDWAN.Dynamic
	}
	opts.Watch.Server = config.Host
	return watch.NewKubernetes(client, opts.Watch, log), &clients{config: config, core: client}, nil
}
