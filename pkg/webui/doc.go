// Package webui serves the page on which people look at policies: who may reach whom, what a policy became, why a
// connection passes or does not, how the targets stand, and what happens now.
//
// Handler answers GET and HEAD only and changes nothing. The page is static and embedded; what it shows comes from JSON
// under /api/v1/ and from a stream of events. docs/ui.md lists both. What is shown comes from a Source, which the daemon
// is. Work that grows with the cluster is done when somebody asks, once for each state, and never while one is made.
// Answers are bounded: the matrix holds classes of pods, lists say how much they leave out.
package webui
