package openwrt

import (
	"math/rand/v2"
	"time"
)

// Stage is the moment at which a write fails.
type Stage int

const (
	// BeforeWrite answers 500, and nothing is written.
	BeforeWrite Stage = iota
	// BetweenHalves deletes the object of a PUT and answers 500 before it is created again. Other writes fail as with
	// BeforeWrite.
	BetweenHalves
	// HalfMade stops in the middle of creating an object and answers 500: its section is there, and most of its fields are not. Other
	// writes fail as with BeforeWrite.
	HalfMade
	// AfterWrite does the write and ends the connection instead of answering.
	AfterWrite
)

type injected struct {
	left  int
	stage Stage
}

// faults lists the faults to come.
type faults struct {
	at      []injected
	limit   int // writes until all of them fail, if limited
	limited bool
	delay   time.Duration                // before every answer
	hung    chan struct{}                // closed by Resume; nil while not hung
	half    bool                         // the write in progress is HalfMade
	refuse  func(kind, name string) bool // nil refuses nothing

	unsteady Unsteady
	luck     *rand.Rand // nil while nothing is unsteady
}

func (f *faults) resume() {
	if f.hung != nil {
		close(f.hung)
		f.hung = nil
	}
}

// FailAt makes the n-th write of a client from now on fail, counted from 1. Creating, changing and deleting an object and
// acting on a service are writes. Zero cancels every failure that has not happened yet.
func (d *Device) FailAt(n int, stage Stage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n <= 0 {
		d.faults.at = nil
		return
	}
	d.faults.at = append(d.faults.at, injected{left: n, stage: stage})
}

// Refuse answers 400, as to a value that the device does not take, to every POST and PUT of an object for which f returns true. A
// kind is as in addresses, such as firewall/zones. nil ends that.
func (d *Device) Refuse(f func(kind, name string) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.refuse = f
}

// FailAfter answers 500 to every write after the next n, until it is called with a negative n.
func (d *Device) FailAfter(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.limit, d.faults.limited = n, n >= 0
}

// Delay delays every answer by that duration; zero ends that.
func (d *Device) Delay(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.delay = by
}

// Drop ends every connection. Clients may reconnect at once.
func (d *Device) Drop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for nc := range d.conns {
		_ = nc.Close() // the client notices
	}
}

// Hang makes the device hang: it accepts connections and requests and answers nothing.
func (d *Device) Hang() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.faults.hung == nil && !d.closed {
		d.faults.hung = make(chan struct{})
	}
}

// Resume ends Hang. Requests that arrived in the meantime are executed now, whether or not the client still waits.
func (d *Device) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults.resume()
}

// Restart simulates a new container in the same pod: configuration as at the first boot, no sessions, no connections. The
// kernel's state stays.
func (d *Device) Restart() {
	d.mu.Lock()
	d.boot()
	d.mu.Unlock()
	d.Drop()
}

// Recreate simulates a new pod: like Restart, with an empty kernel.
func (d *Device) Recreate() {
	d.mu.Lock()
	d.newKernel()
	d.mu.Unlock()
	d.Restart()
}

// ExpireSessions ends every session; the cookies of clients become invalid.
func (d *Device) ExpireSessions() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.sessions)
}

// SetPassword changes the password of root. Sessions stay.
func (d *Device) SetPassword(password string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opts.Password = password
}

// pause waits while the device hangs or is slow. It returns false if the device is closed.
func (d *Device) pause() bool {
	for {
		d.mu.Lock()
		hung, delay, closed := d.faults.hung, d.faults.delay, d.closed
		d.mu.Unlock()
		switch {
		case closed:
			return false
		case hung != nil:
			<-hung
			continue
		}
		return d.wait(delay)
	}
}

// wait returns false if the device is closed in the meantime.
func (d *Device) wait(long time.Duration) bool {
	if long <= 0 {
		return true
	}
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.done:
		return false
	}
}

// write does a write, or makes it fail if a fault is due; halves means that it has two. d.mu is locked.
func (d *Device) write(halves bool, do func(between func() *refusal) answer) answer {
	stage, fails := d.faults.next()
	broken := func() *refusal { return fault("utils", "no space left on device") }
	if !fails {
		return do(func() *refusal { return nil })
	}
	switch {
	case stage == AfterWrite:
		a := do(func() *refusal { return nil })
		a.cut = true
		return a
	case stage == HalfMade && halves:
		d.faults.half = true
		defer func() { d.faults.half = false }()
		return do(func() *refusal { return nil })
	case stage == BetweenHalves && halves:
		return do(broken)
	default:
		return wrong(broken())
	}
}

// next counts a write and reports whether it is to fail.
func (f *faults) next() (stage Stage, fails bool) {
	left := f.at[:0]
	for _, in := range f.at {
		if in.left--; in.left == 0 {
			stage, fails = in.stage, true
			continue
		}
		left = append(left, in)
	}
	f.at = left
	if f.limited {
		if f.limit == 0 {
			return BeforeWrite, true
		}
		f.limit--
	}
	return stage, fails
}
