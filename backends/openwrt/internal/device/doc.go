// Package device holds what is on a device, as it was read and written since: objects of an owner, records, what could not be
// read, the sizes of packages, and what the kernel keeps of objects that the device has lost. It reads nothing itself.
package device
