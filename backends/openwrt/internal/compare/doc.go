// Package compare turns the differences between what a device should have and what it has into the ops of a plan, in a safe order,
// and says what stays, what is lost and what cannot be written. It queries nothing.
package compare
