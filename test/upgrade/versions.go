package upgrade

import (
	_ "embed"
	"strings"
)

//go:embed versions.txt
var versionsText string

// Version is an earlier commit of this repository.
type Version struct {
	Commit  string // all 40 digits
	Special string // what is special about it
}

// Name is the short form of the commit, which names the directory of its rows.
func (v Version) Name() string { return v.Commit[:8] }

// Versions lists the versions of versions.txt, the oldest first.
func Versions() []Version {
	var list []Version
	for line := range strings.Lines(versionsText) {
		commit, special, _ := strings.Cut(strings.TrimSpace(line), " ")
		if commit != "" && commit != "#" {
			list = append(list, Version{commit, strings.TrimSpace(special)})
		}
	}
	return list
}
