package compare

import (
	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/openwrt/internal/render"
	"github.com/netloom/netloom/backends/openwrt/internal/section"
	"github.com/netloom/netloom/pkg/openwrt"
)

// stage is when an op is applied. Stages follow each other.
type stage int

// The stages, in order, except for Reload: see InOrderWith. Objects that take effect immediately have stages of their own: those that close come
// before the reload of the firewall, those that open after it.
const (
	Close   stage = iota // deletes what lets packets in; immediately
	Place                // creates and updates, referenced objects first
	Sweep                // deletes, referring objects first
	Release              // deletes what stops or directs packets; immediately: also what the kernel can have only once, so that others can take its place
	Direct               // creates and updates what directs packets; immediately
	Expose               // creates and updates what lets packets in; immediately
	Reload               // reloads a service
)

// writing is the stage in which an object is created or updated.
func writing(kind openwrt.Kind, o openwrt.Object) stage {
	switch {
	case section.InKernel(kind):
		return Direct
	case exposes(kind, o):
		return Expose
	default:
		return Place // a NetworkFirewallRule too: at a reload it takes its place before what the firewall decides
	}
}

// deleting is the stage in which an object is deleted.
func deleting(kind openwrt.Kind, o openwrt.Object) stage {
	switch {
	case exposes(kind, o), kind == openwrt.NetworkRules && section.Text(o, "target") == "ACCEPT":
		return Close
	case section.InKernel(kind), kind == openwrt.NetworkRules:
		return Release
	default:
		return Sweep
	}
}

// exposes reports whether an object immediately makes packets reach what they did not reach before.
func exposes(kind openwrt.Kind, o openwrt.Object) bool {
	return kind == openwrt.NATs && section.Text(o, "target") == "DNAT"
}

// Opens reports whether a step alone may let packets pass that only the reloaded firewall stops.
func (s *Step) Opens() bool {
	return s.Stage == Expose || s.Stage == Release && s.Key.Kind == openwrt.NetworkRules
}

// Step is the native form of an op, for Apply.
type Step struct {
	Stage stage
	Key   section.Key
	Want  *render.Wanted // nil for a deletion
	// Surplus is what a deletion stores first, without effect, so that the device then deletes it in the kernel; nil if the
	// device has the object.
	Surplus openwrt.Object
	// Intent is what to name if the device rejects the op; for a deletion without an intent, the object itself.
	Intent string
	Clear  bool // another object takes its place in the kernel: delete it before anything is written
	Must   bool // for a reload: even if nothing is written now
	Paused bool // for a reload: it has to wait
	Relies bool // the firewall may forward into tunnels after it: it is applied only if everything of ipsec was written and reloaded
	Last   bool // for the reload of ipsec: it takes tunnels away, so it is made only if everything of the firewall was written and reloaded
	Urgent bool // with Relies: the firewall also closes something, which does not wait for ipsec more than once
}

// rank orders translations by their position in the chain, so that inserting one does not move an earlier one.
func (s *Step) rank() int {
	if s.Want == nil {
		return 0
	}
	return render.PlaceOf(s.Want.Object)
}

// sequence orders rules whose order matters; "" is any other object.
func (s *Step) sequence() string {
	if s.Want == nil || s.Want.Decision == (render.Decision{}) {
		return ""
	}
	return s.Want.Intent
}

// StepOf returns the step of an op of a Comparison; nil for any other.
func StepOf(op *backends.Op) *Step {
	s, _ := op.Native.(*Step)
	return s
}

// Service returns the service that a step belongs to, "" if it takes effect at once or not at all.
func (s *Step) Service() string { return s.Key.Kind.Service() }

// Refusal records that the device rejected an object. The object is not retried until everything is read back, or it
// changes.
type Refusal struct {
	Of     string // digest of the object; "" for its deletion
	Reason string
}
