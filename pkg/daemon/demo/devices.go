package demo

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netloom/netloom/pkg/daemon"
	"github.com/netloom/netloom/pkg/feedback/sdwan"
	"github.com/netloom/netloom/pkg/intent"
	simulator "github.com/netloom/netloom/pkg/simulator/openwrt"
)

// devices simulates the CNFs in manifests: one device for each pod, which loses its configuration when the pod reports that
// its container restarted.
type devices struct {
	latest func() *intent.Snapshot

	mu   sync.Mutex
	list map[intent.CNFID]*simulated
}

// simulated is the device of one CNF.
type simulated struct {
	*simulator.Device
	run string
}

func newDevices() *devices { return &devices{list: map[intent.CNFID]*simulated{}} }

// target makes the target of a CNF, with a device behind it.
func (d *devices) target(to sdwan.Device) (*sdwan.Target, error) {
	g := d.latest().CNF(to.CNF)
	if g == nil {
		return nil, fmt.Errorf("CNF %s is gone", to.CNF)
	}
	device, err := d.at(g, to)
	if err != nil {
		return nil, err
	}
	to.Client.URL, to.Client.CA, to.Client.Dial = device.URL(), device.CA(), device.Dial
	to.Addr = netip.Addr{} // the simulator does not listen there
	return daemon.DeviceTarget(to)
}

// at returns the device of a CNF as the CNF is now: a new one, or one that has just restarted.
func (d *devices) at(g *intent.CNF, to sdwan.Device) (*simulated, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.list[g.ID]; s != nil {
		if s.run != g.Run {
			s.run = g.Run
			s.Restart()
		}
		return s, nil
	}
	opts := simulator.Options{Interfaces: interfaces(g.Networks)}
	if to.Client.Password != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var err error
		if opts.Password, err = to.Client.Password(ctx); err != nil {
			return nil, err
		}
		opts.Strict = true
	}
	device, err := simulator.New(opts)
	if err != nil {
		return nil, err
	}
	d.list[g.ID] = &simulated{Device: device, run: g.Run}
	return d.list[g.ID], nil
}

// of returns the device of a CNF, nil for none.
func (d *devices) of(id intent.CNFID) *simulated {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.list[id]
}

func (d *devices) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.list {
		s.Close()
	}
}

// interfaces lists those that lead to the networks, with addresses of their own. The second has the default route.
func interfaces(networks map[string]string) []simulator.Interface {
	names := slices.Compact(slices.Sorted(maps.Values(networks)))
	out := make([]simulator.Interface, len(names))
	for i, name := range names {
		const bits = 24
		out[i] = simulator.Interface{
			Name: name, Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{172, 16, byte(i), 2}), bits), Default: i == 1,
		}
	}
	return out
}

// hidden returns the export of a device without keys.
func hidden(export string) string {
	lines := strings.Split(export, "\n")
	for i, line := range lines {
		if before, _, ok := strings.Cut(line, "pre_shared_key "); ok {
			lines[i] = before + "pre_shared_key (hidden)"
		}
	}
	return strings.Join(lines, "\n")
}
