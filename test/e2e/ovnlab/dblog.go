//go:build e2e

package ovnlab

import (
	"regexp"
	"strings"
)

// NBComments lists the comments of all transactions that the Northbound database has committed, in that order; "" if
// there is none. They are read from its file.
func (l *Lab) NBComments() []string {
	l.tb.Helper()
	out := l.run("ovsdb-tool", "show-log", "-m", l.path(nbFiles+".db"))
	var all []string
	for _, head := range regexp.MustCompile(`(?m)^record \d+: .*$`).FindAllString(out, -1) {
		_, comment, _ := strings.Cut(head, ` "`)
		all = append(all, strings.TrimSuffix(comment, `"`))
	}
	return all
}
