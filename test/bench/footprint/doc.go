// Package footprint measures how much memory the program takes for a cluster that it reads from an HTTP API server.
package footprint
