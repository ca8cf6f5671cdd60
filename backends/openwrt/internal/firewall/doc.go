// Package firewall turns policies that a CNF enforces into rules of the firewall of its device, none of which depends on the place of
// another.
package firewall
