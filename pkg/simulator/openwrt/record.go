package openwrt

import "slices"

// Request is a client's request, without its body.
type Request struct {
	Method, Path string
	Code         int // answered; 0 if the connection was ended instead
	Login        bool
}

// Action is an action on a service.
type Action struct {
	Service, Verb string
}

// longestRecord is how many requests are remembered; a long-running device drops the older half.
const longestRecord = 200_000

// record is what clients did since the last Reset.
type record struct {
	requests    []Request
	actions     []Action
	connections int
}

func (r *record) note(q Request, cut bool) {
	if cut {
		q.Code = 0
	}
	if len(r.requests) >= longestRecord {
		r.requests = slices.Clone(r.requests[longestRecord/2:])
	}
	r.requests = append(r.requests, q)
}

// Requests lists the clients' requests since the last Reset, in order.
func (d *Device) Requests() []Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.record.requests)
}

// Actions lists the actions on services since the last Reset, in order.
func (d *Device) Actions() []Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.record.actions)
}

// Reloads counts the starts, restarts and reloads of a service since the last Reset.
func (d *Device) Reloads(service string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, a := range d.record.actions {
		if a.Service == service && a.Verb != "stop" {
			n++
		}
	}
	return n
}

// Connections counts the connections that clients made since the last Reset.
func (d *Device) Connections() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.record.connections
}

// Reset clears the record. Faults stay.
func (d *Device) Reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record = record{}
}
