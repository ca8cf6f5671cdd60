// Package field reads values of the fields of objects and gathers what is wrong with them.
package field
