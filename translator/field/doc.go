// Package field parses the values of fields of objects and collects what is wrong with them.
package field
