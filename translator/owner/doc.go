// Package owner decides which of several owns what only one can own, such as the address and port of a load balancer.
package owner
