// Package simulator simulates the configuration server of a Tungsten Fabric controller: its REST API, over HTTP or within the
// process. The demo, `netloom tungsten-sim` and tests use it.
//
// It is held to what a real server answered to 733 requests (testdata/answers.jsonl) and sent to two change streams
// (testdata/watch.jsonl), refusals and their texts included: where the two differ, the real server is right. It shares no code with
// the client.
//
// A write costs what it changes: references in both directions, children, names and the order of lists are indexed.
//
// Observe shows every state between two writes. Inject makes any request fail in any way. HoldSetTags makes concurrent set-tag
// requests overwrite each other as they do on a real server, and Vanish deletes an object that others refer to.
//
// Not simulated are kinds that have nothing to do with pods, policies and load balancers, permissions of users, what the other
// services of a controller write by themselves, and a data plane: see package vrouter.
package simulator
