// Package render turns the device intents of a CNF, and the policies that it enforces, into the objects that its device should
// have, and says which it cannot have and why. It knows nothing of what is on the device.
package render
