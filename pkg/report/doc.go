// Package report works out what people are told of NetworkPolicies and Services: what their PolicyStatus says, and which
// Events there are.
//
// A World is all that is known at one moment: the snapshot, how each target stands, what the translator could not
// understand. Of a policy, a World and what the PolicyStatus says already it makes what it should say. The package writes
// nothing and waits for nothing.
//
// A target enforces a policy when it agreed with a snapshot in which the intents of the policy are as they are now: it tells
// the revision that it agreed with last, and the snapshot tells what changed after that. Pods that came to a set since do
// not count, unless the target is in trouble: they follow within moments, and a status that told of each would say nothing.
//
// Where each node has a netloom of its own, each writes one target. What all of them say in one, the conditions and the
// counts, is Summarize, which looks at all targets that are there; so whoever writes last says it for all.
package report
