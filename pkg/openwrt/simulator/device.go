package simulator

import (
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
	files    map[string]string     // certificates by path
	kernel   *kernel
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
	if opts.Password == "" {
		opts.Password = DefaultPassword
	}
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
	ipsec.add("ipsec", "", false).setList("interface", []string{"wan"})
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

// AddSection writes a section, bypassing the API, as a person with a shell would. The values are text or lists of text;
// name is "" for an anonymous section. It takes effect when its service is reloaded.
func (d *Device) AddSection(pkg, typ, name string, values map[string]any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.begin(pkg)
	if name != "" && (!isSectionName(name) || t.exists(name)) {
		return fmt.Errorf("section %s of %s: not a name, or taken", name, pkg)
	}
	s := t.add(typ, name, name != "")
	for _, option := range slices.Sorted(maps.Keys(values)) {
		switch v := values[option].(type) {
		case string:
			s.set(option, v)
		case []string:
			s.setList(option, v)
		default:
			return fmt.Errorf("option %s: a %T is neither text nor a list of texts", option, v)
		}
	}
	t.commit()
	return nil
}

// RemoveSection deletes the sections of a type that have name as section name or as option name, bypassing the API. It
// returns how many there were.
func (d *Device) RemoveSection(pkg, typ, name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.begin(pkg)
	before := len(t.work)
	t.remove(func(s *section) bool { return s.typ == typ && s.called(name) })
	t.commit()
	return before - len(t.work)
}

// SetDown sets whether mwan3 considers an interface unreachable.
func (d *Device) SetDown(iface string, down bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := d.iface(iface); i != nil {
		i.Down = down
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// atoi reads a number that was checked before.
func atoi(s string) int {
	n, _ := number(s)
	return int(n)
}

// idle is how long the device keeps an idle connection.
const idle = 20 * time.Second
