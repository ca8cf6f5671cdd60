package openwrt

import "time"

// What was measured on a device: the longest message of its configuration daemon, how long it takes to answer without the
// daemon, and when the daemon runs again.
const (
	messageLimit    = 1 << 20
	daemonPatience  = 30 * time.Second
	respawnInterval = 5 * time.Second
)

// daemon is the configuration daemon. It sends a package as one message, and ends when that is too long.
type daemon struct {
	respawn *time.Timer // nil while it runs
	lost    bool        // during the current request
	ended   int         // how often it has ended
}

// whole asks the daemon for a whole package. It returns false if there is no answer.
func (d *Device) whole(p *pkg) bool {
	if d.daemon.lost {
		return false
	}
	if p.size() <= d.opts.MessageLimit {
		return true
	}
	d.daemon = daemon{respawn: time.AfterFunc(d.opts.Respawn, d.Respawn), lost: true, ended: d.daemon.ended + 1}
	clear(d.sessions) // they were the daemon's
	return false
}

// Respawn starts the configuration daemon again at once, if it has ended.
func (d *Device) Respawn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.respawn()
}

// respawn needs d.mu.
func (d *Device) respawn() {
	if d.daemon.respawn != nil {
		d.daemon.respawn.Stop()
		d.daemon.respawn = nil
	}
}

// Crashes is how often the configuration daemon has ended.
func (d *Device) Crashes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.daemon.ended
}

// PackageSize is the size in bytes of a package as a message of the configuration daemon.
func (d *Device) PackageSize(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pkg(name).size()
}

// section is the section of that name, of whatever type; nil for none. The daemon sends it alone.
func (d *Device) section(pkg, id string) *section {
	if d.daemon.lost {
		return nil
	}
	return d.pkg(pkg).byID(id)
}

// find is the section of a type that has name as section name or, failing that, as option name. For the latter the device
// reads the whole package.
func (d *Device) find(pkg, typ, name string) *section {
	p := d.pkg(pkg)
	if s := d.section(pkg, name); s == nil && !d.whole(p) {
		return nil
	}
	return p.find(typ, name)
}

// ofType lists the sections of some types in order.
func (d *Device) ofType(pkg string, types ...string) []*section {
	p := d.pkg(pkg)
	if !d.whole(p) {
		return nil
	}
	return p.ofType(types...)
}

// size is that of the message with a whole package: every name and value ends with a zero byte, and everything is padded to
// four bytes.
func (p *pkg) size() int {
	total := 0
	for _, s := range p.seen() {
		total += blob(s.id, 0) + blob(".anonymous", 1) + blob(".type", len(s.typ)+1) + blob(".name", len(s.id)+1) + blob(".index", 4)
		for _, o := range s.options {
			for _, v := range o.values {
				if o.list {
					total += blob("", len(v)+1)
				} else {
					total += blob(o.name, len(v)+1)
				}
			}
			if o.list {
				total += blob(o.name, 0)
			}
		}
	}
	return total
}

// blob is the size of one named value with that many bytes.
func blob(name string, value int) int {
	padded := func(n int) int { return (n + 3) &^ 3 }
	return 4 + padded(2+len(name)+1) + padded(value)
}
