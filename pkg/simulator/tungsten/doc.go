// Package tungsten simulates the configuration server of a Tungsten Fabric controller: its REST API, over HTTP or within the
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
// AddCluster and AddPod make what kube-manager makes. With Options.ServiceMonitor, native load balancers get the floating IPs that
// svc-monitor makes; it is simulated as if it looked at everything after each write, while the real one follows events and has
// defects that docs/adr/0023 names.
//
// Not simulated are kinds that have nothing to do with pods, policies and load balancers, permissions of users, what else the
// services of a controller write by themselves, and a data plane: see package vrouter.
package tungsten
