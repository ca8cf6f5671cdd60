// Package resolver looks up the DNS names that objects contain, at an interval, and passes changed answers on to the translator.
package resolver
