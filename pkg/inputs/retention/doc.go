// Package retention keeps objects in force that went missing from a source without having been deleted.
//
// A list after a lost permission, a relist after a gap in a watch, a directory whose files vanish: each looks like a cluster
// whose policies were deleted, and would open every pod. It therefore matters how an object disappears. A DELETE event for the
// object or its namespace is intent and takes effect at once, however many there are. An object that is only missing from the
// latest list is suspicious: it is removed if only a few of its kind are missing. If more than a share of those in force are
// missing, it is kept as it was last known.
//
// A Ledger makes this decision and is pure: the time is a parameter. A Source wraps another source; its readers see kept objects
// as if they still existed.
//
// # What counts
//
// Objects are counted for each kind. Those that went missing within a sliding window, plus those that are kept, are compared
// with the largest number in force within that window: emptying a directory file by file is stopped at the same share as
// emptying it at once. Objects whose deletion was observed do not count on either side. Objects that appear together with a loss
// do not offset it, except for pods and endpoint slices, whose names come and go: for these the decrease in number counts.
//
// Staged policies count apart from those that are enforced. A policy that becomes staged is a change of that policy: it is still there.
//
// # What ends it
//
// An object is released if it comes back, if it or its namespace is deleted, and, for a pod, if another pod has its address.
// All others wait for Approve.
package retention
