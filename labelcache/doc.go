// Package labelcache turns labels and selectors into sets of endpoints and keeps the sets up to date.
//
// Its inputs are the existing endpoints and namespaces (SetEndpoint, SetNamespace) and the selectors in use (AddTerm). A term is a
// canonical selector: equal selectors share one term, whichever policy they come from. A set is the union of its terms, and
// exists as long as it has one. A tag is a label that at least one object has, together with the objects that have it.
//
// Changes are collected until Commit, which publishes a View and returns the net difference. A View is immutable: it can be read
// without a lock while the cache changes, and all reads of one View are consistent.
//
// The work for one change depends on the terms that could match the changed object and on the sets that it joins or leaves, never
// on the number of endpoints, terms or members:
//
//   - Every term is indexed under one property that all its members have in common, such as a label, within the widest
//     namespace scope that it allows. A changed endpoint is compared only with the terms that are indexed under its properties.
//   - A new term is compared only with the endpoints that have each property that it requires: the sets of them are intersected.
//   - Sets, tags and tables are persistent trees. A view shares everything that did not change with the previous one; between
//     two commits nodes are changed in place.
//   - The difference between two views of a set is found by walking only the nodes that they do not share.
//
// The package is pure: no clock, no I/O, no log and no goroutine. The result depends only on the objects and terms, not on their
// order.
package labelcache
