// Package audit reports how well a cluster is isolated: by namespace and pod, towards the world, between namespaces, and which policy
// is the reason. Of makes a Report of one state, which is also the format of snapshots, and Since lists what changed between two.
// WriteCSV and WriteHTML format it for spreadsheets and people.
//
// The package is pure: no clock, no I/O of its own, no log and no goroutine. The same state gives the same bytes.
package audit
