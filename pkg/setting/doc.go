// Package setting describes what can be configured: the name of each setting, its meaning and the values that it takes.
//
// A Setting is bound to the variable that it fills. A Group is a list of settings of one owner, such as a backend, with
// the rules between them; package config reads them from flags, environment variables and a file without knowing whose
// they are.
package setting
