// Package retention keeps objects in force that went missing from a source without having been deleted.
//
// A list that lost a right, a relist after a gap in a watch, a directory whose files vanish: each looks like a cluster
// whose policies were deleted, and would open every pod. So it matters how an object goes. A DELETE event, of the object or
// of its namespace, is intent and takes effect at once, whatever else goes. An object that is only missing from what was
// listed last is suspicious: it is let go while few of its kind are missing, and kept, as it was last known, where they are
// more than a share of those that were in force.
//
// A Ledger judges, and is pure but for the time it is given. A Source stands between a source and its readers, who see what
// is kept as if it were there.
//
// # What counts
//
// Objects are counted for each kind. The share is that of the objects missing within a sliding window, with those that are
// kept, of the most that were in force within it: a directory that is emptied file by file is stopped at the same share as
// one that is emptied at once. Objects whose deletion was seen count for neither. What arrives together with a loss does
// not make up for it, but for pods and endpoint slices, whose names come and go: of those it counts how many fewer there
// are.
//
// # What ends it
//
// An object that comes back is released, and so is one that is deleted after all, one whose namespace is, and a pod whose
// address another pod has by now. All else waits for Approve.
package retention
