// Package version says which netloom this is.
package version
