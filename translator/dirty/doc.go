// Package dirty is the queue of what a translator has to do before its next snapshot.
//
// A change only marks what it concerns. The stages of a snapshot process their parts of the queue one after the other,
// each in its own order, so the work depends on what changed and not on how often it did.
package dirty
