// Package definition reads and validates UpstreamClusters. It reports every fault of an object at once.
package definition
