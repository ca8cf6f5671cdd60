// Package figures formats what a benchmark measured as one table: each figure beside what is wanted of it and beside its floor, which
// is what the same takes without netloom.
package figures
