// Package config reads netloom's settings into one validated struct.
//
// A setting comes from its default, a configuration file, the environment or a flag, the later winning over the earlier.
// One table (Settings) says of each what it is called, what it means and which values are good; flags, environment
// variables, keys of the file, help, completion and docs/config.md are all made from it. Load reports every fault at
// once, each with the key, where the value came from and what was expected.
package config

//go:generate go test . -run TestDocumentation -update
