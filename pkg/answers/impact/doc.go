// Package impact answers which connections the step from one state to another opens and closes.
package impact
