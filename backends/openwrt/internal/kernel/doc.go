// Package kernel compares the routes and routing rules that the kernel of a device has, as far as readings show them, with the
// objects that the device stores and with what this process has caused. It reads nothing itself.
package kernel
