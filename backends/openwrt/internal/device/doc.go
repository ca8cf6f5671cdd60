// Package device tracks the state of a device since the last read-back: an owner's objects and records, what could not be read, the sizes of
// packages, and what remains in the kernel of objects that the device has lost. It sends no requests.
package device
