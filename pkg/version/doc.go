// Package version identifies the build of netloom.
package version
