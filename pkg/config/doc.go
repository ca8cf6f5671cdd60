// Package config reads netloom's settings into one validated struct.
//
// A setting comes from its default, a configuration file, the environment or a flag; later ones override earlier ones.
// One table (Settings) has the name, meaning and valid values of each; flags, environment variables, keys of the file,
// help, completion and docs/config.md are all generated from it. Load reports all errors at once, each with the key, the
// place that the value came from and what was expected.
package config

//go:generate go test . -run TestDocumentation -update
