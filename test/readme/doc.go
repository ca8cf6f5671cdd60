// Package readme runs the commands that README.md shows, so that they work for whoever types them.
package readme
