// Package host holds the DNS names that objects use and the answers of DNS. It looks nothing up itself.
package host
