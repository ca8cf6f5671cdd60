// Package sdwan keeps CNFs in sync with the newest snapshot, and the status of SD-WAN objects up to date.
//
// Every CNF that may be written to has a target, which is its device, and a loop that keeps the device in sync. What the
// loops have reached becomes the status and the finalizers of SD-WAN objects: pkg/feedback/sdwan/status computes them, for the objects in
// a work queue. The controller also resolves the DNS names that objects contain, and collects the reports of CNFs in
// CNFStatus objects.
//
// A Controller writes while Run runs, and Run may be called again. Between two runs, as on standby, it queues no work.
package sdwan
