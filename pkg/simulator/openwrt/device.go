package openwrt

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// DefaultPassword is the default password of a device.
const DefaultPassword = "root1"

// Options configures a device. The zero value is a plain one with three interfaces.
type Options struct {
	// TLS makes the device speak HTTPS only, with a certificate for Names that CA signed.
	TLS bool
	// Names are the names in the certificate, in addition to localhost and 127.0.0.1.
	Names []string
	// Password is that of root; "" is DefaultPassword.
	Password string
	// Strict rejects every call without a session, as the real device should and does not.
	Strict bool
	// Interfaces are those of the pod; nil is net0, net1 and net2, the second with the default route.
	Interfaces []Interface
	// NoMWANInterfaces leaves the interfaces out of mwan3, as newer deployments do: then no policy can be created.
	NoMWANInterfaces bool
	// MessageLimit is the size in bytes beyond which reading a package ends the device's configuration daemon; 0 is 1 MiB.
	MessageLimit int
	// Patience is how long a device without that daemon takes for an answer, which then is empty; 0 is 30 seconds.
	Patience time.Duration
	// Respawn is how long after its end the daemon runs again, and until when every request fails; 0 is 5 seconds.
	Respawn time.Duration
	// NoTrailingBlanks has a newer ip, which ends no line with a blank. The scripts then lose the last word of each line: the table of a
	// rule, and the interface of most routes.
	NoTrailingBlanks bool
	// NoLeak keeps the status of ipsec out of the header block, as a fixed device would.
	NoLeak bool
}

// Interface is a network interface of the device's pod.
type Interface struct {
	Name    string
	Address netip.Prefix // its address within its subnet
	Default bool         // whether the default route goes here
	Down    bool         // whether mwan3 considers it unreachable
}

// Device is one simulated device. It is safe for concurrent use.
type Device struct {
	opts  Options
	certs *certificate

	mu       sync.Mutex
	packages map[string]*pkg
	running  map[string][]*section // by service: the sections it read at its last start; absent if it is stopped
	files    map[string]string     // certificates and keys by path
	kernel   *kernel
	daemon   daemon

	strongSwan strongSwan

	serial   int
	sessions map[string]bool
	modules  map[string]string // status set by SetStatus
	faults   faults
	record   record

	listener net.Listener
	conns    map[net.Conn]struct{} // below TLS
	closed   bool
	done     chan struct{} // closed by Close
	work     sync.WaitGroup
}

// New makes a device that has just booted. It does not listen: see Start and Dial.
func New(opts Options) (*Device, error) {
	opts.Password = cmp.Or(opts.Password, DefaultPassword)
	opts.MessageLimit = cmp.Or(opts.MessageLimit, messageLimit)
	opts.Patience, opts.Respawn = cmp.Or(opts.Patience, daemonPatience), cmp.Or(opts.Respawn, respawnInterval)
	if opts.Interfaces == nil {
		opts.Interfaces = []Interface{
			{Name: "net0", Address: netip.MustParsePrefix("172.16.70.39/24")},
			{Name: "net1", Address: netip.MustParsePrefix("10.10.10.15/24"), Default: true},
			{Name: "net2", Address: netip.MustParsePrefix("10.10.20.15/24")},
		}
	}
	d := &Device{opts: opts, conns: map[net.Conn]struct{}{}, done: make(chan struct{})}
	if opts.TLS {
		certs, err := newCertificate(opts.Names)
		if err != nil {
			return nil, fmt.Errorf("OpenWRT device: %w", err)
		}
		d.certs = certs
	}
	d.newKernel()
	d.boot()
	return d, nil
}

// Start listens on a TCP address, where port 0 takes a free one.
func (d *Device) Start(address string) error {
	listener, err := net.Listen("tcp", address) //nolint:noctx // Listening blocks for nothing.
	if err != nil {
		return fmt.Errorf("OpenWRT device: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || d.listener != nil {
		_ = listener.Close() // it was never used
		return errors.New("OpenWRT device: started or closed before")
	}
	d.listener = listener
	d.work.Go(func() {
		for {
			nc, err := listener.Accept()
			if err != nil || !d.Serve(nc) {
				return
			}
		}
	})
	return nil
}

// URL is the address that a client connects to: the one given to Start, or a name that only Dial knows.
func (d *Device) URL() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	scheme, host := "http", "localhost"
	if d.opts.TLS {
		scheme = "https"
	}
	if d.listener != nil {
		host = d.listener.Addr().String()
	}
	return scheme + "://" + host
}

// CA is the certificate, in PEM, that signed the device's; nil without TLS.
func (d *Device) CA() []byte {
	if d.certs == nil {
		return nil
	}
	return slices.Clone(d.certs.ca)
}

// Close ends every connection and waits for the device's goroutines. Its configuration stays readable.
func (d *Device) Close() {
	d.mu.Lock()
	if !d.closed {
		close(d.done)
	}
	d.closed = true
	d.respawn()
	if d.listener != nil {
		_ = d.listener.Close() // a listener that cannot be closed is of no use any more
	}
	d.faults.resume()
	d.mu.Unlock()
	d.Drop()
	d.work.Wait()
}

// newKernel makes the kernel state of a new pod.
func (d *Device) newKernel() { d.kernel = &kernel{chains: map[string][]chainRule{}} }

// boot writes the configuration that a container starts with and starts the services.
func (d *Device) boot() {
	d.respawn()
	d.packages, d.running = map[string]*pkg{}, map[string][]*section{}
	d.files, d.sessions, d.modules = map[string]string{}, map[string]bool{}, map[string]string{}
	network, mwan3 := d.begin("network"), d.begin("mwan3")
	mwan3.add("globals", "globals", true).set("mmx_mask", "0x3F00")
	for _, i := range d.opts.Interfaces {
		s := network.add("interface", i.Name, true)
		s.set("ifname", i.Name)
		s.set("proto", "static")
		s.set("ipaddr", i.Address.Addr().String())
		s.set("netmask", net.IP(net.CIDRMask(i.Address.Bits(), i.Address.Addr().BitLen())).String())
		if !d.opts.NoMWANInterfaces {
			w := mwan3.add("interface", i.Name, true)
			w.set("enabled", "1")
			w.set("family", "ipv4")
		}
	}
	network.commit()
	mwan3.commit()
	firewall := d.begin(firewallName)
	defaults := firewall.add("defaults", "", false)
	for _, o := range [][2]string{{"syn_flood", "1"}, {"input", "ACCEPT"}, {"output", "ACCEPT"}, {"forward", "REJECT"}} {
		defaults.set(o[0], o[1])
	}
	firewall.add("include", "", false).set("path", "/etc/firewall.user")
	firewall.commit()
	ipsec := d.begin("ipsec")
	ipsec.add("ipsec", "", false).set("debug", "1")
	ipsec.commit()
	for _, service := range services() {
		d.reload(service)
	}
}

// pkg is a package by name; it is created if it does not exist.
func (d *Device) pkg(name string) *pkg {
	if d.packages[name] == nil {
		d.packages[name] = &pkg{name: name}
	}
	return d.packages[name]
}

// iface is an interface by name, nil for none.
func (d *Device) iface(name string) *Interface {
	for i := range d.opts.Interfaces {
		if d.opts.Interfaces[i].Name == name {
			return &d.opts.Interfaces[i]
		}
	}
	return nil
}

// hasLink reports whether the pod has an interface of that name, the loopback interface included.
func (d *Device) hasLink(name string) bool { return name == loopback || d.iface(name) != nil }

const loopback = "lo"

// ifaceOf is the interface with an address, "" for none.
func (d *Device) ifaceOf(address string) string {
	for _, i := range d.opts.Interfaces {
		if i.Address.Addr().String() == address {
			return i.Name
		}
	}
	return ""
}

// place is the interface that a field refers to: its name, #default, # and an address, or #source for that of source. It
// is "" if there is none.
func (d *Device) place(name, source string) string {
	what, special := strings.CutPrefix(name, "#")
	switch {
	case !special:
		return name
	case what == "default":
		for _, i := range d.opts.Interfaces {
			if i.Default {
				return i.Name
			}
		}
		return ""
	case what == "source":
		return d.ifaceOf(source)
	default:
		return d.ifaceOf(what)
	}
}

// Export prints packages as `uci export` does: those named, or all that have sections.
func (d *Device) Export(packages ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(packages) == 0 {
		for _, name := range slices.Sorted(maps.Keys(d.packages)) {
			if len(d.packages[name].sections) > 0 {
				packages = append(packages, name)
			}
		}
	}
	var b strings.Builder
	for _, name := range packages {
		d.pkg(name).export(&b)
	}
	return b.String()
}

// Kernel prints the changes that scripts of the device made in the kernel, as commands.
func (d *Device) Kernel() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kernel.text()
}

func itoa(n int) string { return strconv.Itoa(n) }

// atoi reads a number that was checked before.
func atoi(s string) int {
	n, _ := number(s)
	return int(n)
}

// idle is how long the device keeps an idle connection.
const idle = 20 * time.Second
