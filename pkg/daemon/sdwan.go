package daemon

import (
	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
)

// newSDWAN makes the SD-WAN controller.
func newSDWAN(d *Daemon) *sdwan.Controller {
	opts := d.opts.SDWAN
	if opts.Target == nil {
		opts.Target = DeviceTarget
	}
	return sdwan.New(opts, sdwan.Environment{
		Pipeline: d.pipeline, Objects: d.source, Metrics: d.metrics, Observer: &d.observe, Loops: d.loopOptions(),
		Owner: d.opts.Target.Owner, KeptChanged: d.reportKept, Resolved: d.resolver.Settled,
		Log: d.log,
	})
}

// DeviceTarget makes the target of a device with the backend openwrt.
func DeviceTarget(d sdwan.Device) (*sdwan.Target, error) {
	t, err := builtin.New("openwrt", builtin.Settings{
		Owner: d.Owner, Log: d.Client.Log,
		OpenWRT: builtin.OpenWRTSettings{Client: d.Client, CNF: d.CNF, Addr: d.Addr, Secret: d.Secret},
	})
	if err != nil {
		return nil, err
	}
	return &sdwan.Target{Backend: t.Backend, Run: t.Run}, nil
}
