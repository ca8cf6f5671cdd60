// Package labelcache turns labels and selectors into sets of endpoints and keeps them up to date.
//
// It takes what exists (SetEndpoint, SetNamespace) and what is selected (AddTerm), and keeps the members of each set. A term is a canonical selector: equal selectors share one term, whichever policy they come from. A set is the union of
// its terms, and lives as long as it has one. A tag is a label that at least one object carries, together with the objects that carry it, its holders.
//
// Changes gather until Commit, which publishes a View and returns the net difference. A View is immutable: it can be read
// without a lock while the cache moves on, and two answers of one View never contradict each other.
//
// The work for one change depends on the terms that could match the object that changed and on the sets it joins or
// leaves, never on how many endpoints, terms or members there are:
//
//   - Every term is filed under one thing that all its members have in common, such as a label, within the widest
//     namespace scope that it admits. A changed endpoint is compared with the terms filed under what it has.
//   - Sets, tags and tables are persistent trees. A view shares with the one before it all that did not change; between
//     two commits nodes are changed in place.
//   - The difference between two views of a set is found by walking only the nodes that they do not share.
//
// The package is pure: no clock, no I/O, no log and no goroutine. The result depends on the objects and terms only, not
// on the order in which they came.
package labelcache
