// Package cause spells why a server cannot be used: in the same words at each attempt, so that what is new can be told from
// what is known.
package cause
