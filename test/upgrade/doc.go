// Package upgrade tests that netloom can be upgraded and rolled back without a window: that no connection opens or closes on the way from
// the rows of one version to those of another, unless the policies of the cluster say so.
//
// versions.txt lists earlier commits whose rows have other forms. testdata/rows has what each of them wrote for the worlds in
// testdata/worlds, random clusters of a seed; TestCurrentVersionTakesOverRows starts the current version on them. It needs neither the
// history nor another program, and costs seconds.
//
// `make upgrade` builds these commits and upgrades and downgrades with the programs themselves: with policies and Services on OVN and on a
// Tungsten Fabric controller, and with SD-WAN objects (Branch) on the device of a CNF (CNF). `make upgrade-record` rewrites testdata.
package upgrade
