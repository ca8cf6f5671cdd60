// Package cause describes why a server cannot be used: in the same words at each attempt, so that new causes can be
// distinguished from known ones.
package cause
