// Package sets keeps the sets of endpoints and prefixes that translated objects use.
//
// The translation of an object retains sets in Refs, one per object. Equal sets are shared between objects. When an
// object is translated again, the old Refs are released only after the new ones were made, so a set that both use never
// leaves the label cache.
package sets
