// Package report computes what users read about NetworkPolicies and Services: the content of PolicyStatus objects, and
// the Events.
//
// A World is all that is known at one moment: the snapshot, the state of each target, and what the translator could not
// understand. From a policy, a World and the present PolicyStatus, the package makes the new status. It writes nothing and
// waits for nothing.
//
// A target enforces a policy when it is in sync with a snapshot that has the intents of the policy as they are now: the
// target reports the revision it was last in sync with, and the snapshot lists what changed after that. Pods that have
// joined a set since then do not count, unless the target is in trouble: they follow within moments, and a status that
// reported each of them would be useless.
//
// If each node has a netloom of its own, each writes one target. The summary combines them into the conditions and counts. It
// looks at all present targets, so the last one to write summarizes for all of them.
package report
