// Package status works out what is to be written into the status of SD-WAN objects, and which of them may go.
//
// A World is all that is known at one moment: the snapshot, how the target of each CNF stands, what the translator
// could not understand. Of an object and a World it makes a Verdict: the status as its kind spells it, the finalizers that
// the object should have, and what people should be told. The package writes nothing and waits for nothing.
//
// An object is in sync when every CNF of its scope that is not leaving is ready and agrees with a snapshot in which the
// object is as it is now. A CNF's target tells the revision that it agreed with last; the snapshot tells what changed
// after that. What has not changed since then, the CNF holds.
//
// A finalizer keeps an object until every such CNF agrees with a snapshot in which the object is gone. A CNF that
// is not ready is waited for: what it holds is not known. Where there is no CNF, nothing is waited for.
//
// A process that has just begun to write has asked no CNF yet. Of such a CNF what an object says of it stands, if
// the object and the pod are the same since: otherwise every start would take In Sync back for a moment.
package status
