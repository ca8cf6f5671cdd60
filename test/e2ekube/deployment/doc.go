// Package deployment renders what lies in deploy/, as kubectl and helm would, without either.
package deployment
