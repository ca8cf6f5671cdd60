// Package device holds the state of a device, as it was read back and has been written since: an owner's objects and records, what could not
// be read, the sizes of packages, and what the kernel still has of objects that the device has lost. It reads nothing itself.
package device
