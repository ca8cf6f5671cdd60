// Package sdwan keeps CNFs configured as the newest snapshot says, and the status of SD-WAN objects up to date.
//
// Every CNF that may be written to has a target, which is its device, and a loop that keeps the device in sync. What the loops
// have reached becomes the status and the finalizers of SD-WAN objects: pkg/status computes them, a work queue says which
// objects have to be looked at. Besides, the controller resolves the DNS names that objects contain, and collects the reports
// of CNFs in CNFStatus objects.
//
// A Controller writes while Run runs, and Run may be called again. Between two runs, as on standby, it keeps no work.
package sdwan
