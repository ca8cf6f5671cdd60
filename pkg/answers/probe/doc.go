// Package probe answers which connections get through, and why: the verdict of the policies at both ends, the rules that decide, those
// that almost match, and what would have to change. It also checks files of expectations.
package probe
