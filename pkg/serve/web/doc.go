// Package web serves the read-only web page: which pods can reach which, what a policy was translated to, why a connection is
// allowed or denied, which connections appear in ACL logs, what an edited policy would change, the state of each target, and
// events as they happen.
//
// Handler changes nothing. It answers GET and HEAD; POST is for text that is compared with what is in force, and only that. The
// page is static and embedded; its data comes as JSON under /api/v1/ and as a stream of events, which docs/ui.md lists. The data
// comes from a Source, which the daemon implements. Work that grows with the cluster is done on request, once for each state, and
// never while a state is created. Responses are limited: the matrix shows classes of pods, and lists report how many entries they
// omit.
package web
