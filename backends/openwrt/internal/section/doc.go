// Package section says what an object of a device is called, what of it can exist only once, how large it is, and which of its
// fields the device does not show as they were written. It knows no intents and no order of writes.
package section
