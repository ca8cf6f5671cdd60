// Package status computes the status of SD-WAN objects, and which of them may be deleted.
//
// A World is all that is known at one moment: the snapshot, the state of each CNF's target, and what the translator could
// not understand. From an object and a World, the package makes a Verdict: the status in the terms of the object's kind,
// its finalizers, and the Notes to report. It writes nothing and waits for nothing.
//
// An object is in sync when every CNF of its scope that is not being deleted is ready and in sync with a snapshot that has
// the object as it is now. A CNF's target reports the revision it was last in sync with; the snapshot lists what changed
// after that. The CNF has everything that has not changed since then.
//
// A finalizer keeps an object until every such CNF is in sync with a snapshot without the object. A CNF that is not ready
// is waited for: its content is not known. If there is no CNF, there is nothing to wait for.
//
// A process that has just become the writer has not read any CNF yet. For such a CNF the object's present status is kept if
// object and pod have not changed since: otherwise every start would revoke In Sync for a moment.
package status
