// Package question reads questions about connections, such as "shop/web-0 -> shop/db-0 tcp/5432", and finds the connections that they
// are about. Whether these get through is a matter of package probe; others ask what they would need.
package question
