// Package figures formats what a benchmark measured as one table: each figure beside what is wanted of it, beside its floor, which
// is what the same takes without netloom, and beside what was published of it and of others; and finds figures that have got worse.
package figures
