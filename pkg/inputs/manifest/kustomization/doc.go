// Package kustomization builds the objects of a directory with a kustomization, as kubectl kustomize does, without ever using the
// network: a kustomization that refers to anything remote is refused.
package kustomization
