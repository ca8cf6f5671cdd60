// Package setting describes what can be configured: the name of each setting, its meaning and its valid values.
//
// A Setting is bound to the variable for its value. A Group is a list of settings of one owner, such as a backend, with
// the rules between them; package config reads them from flags, environment variables and a file without knowing their
// owner.
package setting
