// Package deployment renders the content of deploy/, as kubectl and helm would, without either.
package deployment
