// Package reach computes which pods can reach which, for all pairs at once: endpoints that no policy distinguishes form a
// class, and verdicts are computed for pairs of classes.
//
// A Place is an address with the endpoint that has it, or an address outside that represents all addresses that policies treat
// alike. Classify groups places into classes under one or more snapshots, Traffic is what is allowed between two classes, and
// Impact lists the differences between two snapshots. The results equal those of Snapshot.Evaluate, with all tiers in their
// order, for every protocol and port, without evaluating each one.
package reach
