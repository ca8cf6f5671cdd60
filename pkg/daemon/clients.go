package daemon

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/manifest"
	"github.com/netloom/netloom/pkg/source"
	"github.com/netloom/netloom/pkg/source/kube"
)

// clients are the ways to one Kubernetes API, for whatever is not read through the source.
type clients struct {
	config *rest.Config
	core   kubernetes.Interface
}

// newSource makes the source that opts ask for, the clients that SD-WAN lacks, and those of the API where there is one.
func newSource(opts *Options, log logrus.FieldLogger) (source.Source, *clients, error) {
	if opts.Source != nil {
		return opts.Source, nil, nil
	}
	if opts.Manifests != "" {
		directory := manifest.NewDirectory(opts.Manifests, manifest.Options{Options: opts.Read, MaxFile: opts.MaxManifest}, log)
		if opts.SDWAN.Secrets == nil {
			opts.SDWAN.Secrets = directory
		}
		return directory, nil, nil
	}
	config, err := kube.Config(opts.Kubeconfig, opts.KubeContext)
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
	read := kube.Options{Options: opts.Read, Server: config.Host}
	if opts.SDWAN.Enabled {
		read.SDWAN = opts.SDWAN.Dynamic
	}
	return kube.New(client, read, log), &clients{config: config, core: client}, nil
}
