// Package dirty is the one queue of what a translator has to do before its next snapshot.
//
// A change only marks what it concerns. The stages of a snapshot take their part of the queue one after the other, each in
// an order of its own, so the work depends on what changed and not on how often it did.
package dirty
