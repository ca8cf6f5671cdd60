package daemon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/intent"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/pipeline"
)

// shownFiles is how many unreadable documents readiness names one by one.
const shownFiles = 10

// unreadable lists the resources, files and documents that cannot be read, one line for each.
func unreadable(problems []object.Problem) []string {
	var lines []string
	files := 0
	for _, p := range problems {
		switch p.Unread {
		case object.UnreadNothing:
		case object.UnreadResource:
			lines = append(lines, fmt.Sprintf("degraded: %s can no longer be read; what was read earlier stays in force: %s", p.Where(), p.Message))
		case object.UnreadFile:
			if files++; files <= shownFiles {
				lines = append(lines, fmt.Sprintf("degraded: %s cannot be read; what it declared since the start stays in force: %s", p.Where(), p.Message))
			}
		}
	}
	if more := files - shownFiles; more > 0 {
		lines = append(lines, fmt.Sprintf("degraded: %d more files or documents cannot be read, see /debug/problems", more))
	}
	return lines
}

// unchanged lists what stays as it is because kinds cannot be read, one line for each area, and one for cluster-wide
// policies.
func unchanged(kinds []string) []string {
	var lines []string
	add := func(missing []string, what string) {
		if len(missing) > 0 {
			lines = append(lines, fmt.Sprintf("degraded: %s cannot be read, so %s stay as they are", strings.Join(missing, ", "), what))
		}
	}
	add(slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return !object.IsClusterPolicy(kind) }), "such policies")
	for _, a := range []struct {
		area intent.Areas
		what string
	}{
		{intent.AreaBalancers, "load balancers"},
		{intent.AreaDevices, "settings of CNFs"},
	} {
		add(slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return pipeline.AreaOf(kind) != a.area }), a.what)
	}
	return lines
}
