package daemon

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/pkg/feedback"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/inputs/confirm"
	"github.com/netloom/netloom/pkg/inputs/kube"
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/inputs/source"
)

// secretTTL is how long an answer of the API about a Secret is used.
const secretTTL = 10 * time.Second

// clients are the clients of one Kubernetes API, for everything that is not read through the source.
type clients struct {
	config    *rest.Config
	core      kubernetes.Interface
	source    *kube.Source
	wentBack  func(why string) // called when the API went back to an older state
	endEvents func()           // ends the recorder of the SD-WAN controller; nil if there is none
}

// close ends what the clients have started.
func (c *clients) close() {
	if c != nil && c.endEvents != nil {
		c.endEvents()
	}
}

// rest returns how to connect to the API; nil if none is read.
func (c *clients) rest() *rest.Config {
	if c == nil {
		return nil
	}
	return c.config
}

// newSource makes the source that opts select, the clients that SD-WAN lacks, and those of the API if there is one.
func newSource(opts *Options, log logrus.FieldLogger) (source.Source, *clients, error) {
	if opts.Source != nil {
		return opts.Source, nil, nil
	}
	if opts.Manifests != "" {
		directory := manifest.NewDirectory(opts.Manifests, manifest.Options{Options: opts.Read, MaxFile: opts.MaxManifest, Foreign: world.MayDecide}, log)
		if opts.SDWAN.Secrets == nil {
			opts.SDWAN.Secrets = directory
		}
		return directory, nil, nil
	}
	config, err := kube.Config(opts.login())
	if err != nil {
		return nil, nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	c := &clients{config: config, core: client}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to Kubernetes: %w", err)
	}
	read := kube.Options{
		Options: opts.Read, Namespace: opts.OnlyNamespace, Server: config.Host, ClusterPolicies: custom, Metadata: metadataClient,
		Confirm: confirm.Options{Interval: opts.ConfirmInterval, WentBack: func(why string) { c.wentBack(why) }},
	}
	if opts.SDWAN.Enabled {
		if err := c.connect(&opts.SDWAN); err != nil {
			return nil, nil, err
		}
		read.SDWAN = opts.SDWAN.Dynamic
	}
	c.source = kube.New(client, read, log)
	return c.source, c, nil
}

// connect makes the clients that the SD-WAN controller needs and the options lack.
func (c *clients) connect(o *sdwan.Options) error {
	o.Refused = &feedback.Refusals{}
	if o.Dynamic == nil {
		made, err := dynamic.NewForConfig(c.config)
		if err != nil {
			return fmt.Errorf("connect to Kubernetes: %w", err)
		}
		o.Dynamic = made
	}
	if o.Secrets == nil {
		o.Secrets = sdwan.NoteRefusals(kube.NewSecrets(c.core, secretTTL), o.Refused, o.Interval)
	}
	if o.Events == nil && !o.NoEvents {
		o.Events, c.endEvents = feedback.NewRecorder(c.core, o.Refused)
	}
	return nil
}
