// Package reach answers who may reach whom, for all at once: endpoints that no policy tells apart form a class, and
// verdicts are worked out for pairs of classes.
//
// A Place is an address with the endpoint that holds it, or an address outside that stands for all that policies treat
// alike. Classify sorts places into classes under one snapshot or several, Traffic says what passes between two classes,
// and Impact lists what differs between two snapshots. The answers are those of Snapshot.Evaluate for every protocol and
// port, without asking for each.
package reach
