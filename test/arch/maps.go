package arch

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Maps are the pages that tell a reader which package is for what.
var Maps = []string{"docs/architecture.md", "CONTRIBUTING.md"}

// span is a piece of code in a page.
var span = regexp.MustCompile("`([^`\n]+)`")

// tops are the directories of the module that pages name.
var tops = []string{"backends", "cmd", "deploy", "docs", "labelcache", "pkg", "test", "translator"}

// CheckMaps returns what the maps of a tree leave out or name wrongly: every package needs a row in the first of them, and every path
// that a table names has to exist. Of tests, only the directories directly below test need a row.
func CheckMaps(tree fs.FS, sources []Source) ([]Fault, error) {
	var faults []Fault
	listed := map[string]bool{}
	for i, page := range Maps {
		text, err := fs.ReadFile(tree, page)
		if err != nil {
			return nil, fmt.Errorf("read a map: %w", err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			cells, row := strings.CutPrefix(line, "| ")
			if !row {
				continue
			}
			for _, fault := range missing(tree, cells) {
				faults = append(faults, Fault{page, n + 1, fault})
			}
			if first, _, _ := strings.Cut(cells, " | "); i == 0 {
				for _, m := range span.FindAllStringSubmatch(first, -1) {
					listed[m[1]] = true
				}
			}
		}
	}
	for _, dir := range described(sources) {
		if !listed[dir] {
			faults = append(faults, Fault{Maps[0], 1, dir + " has no row in the table of packages"})
		}
	}
	return faults, nil
}

// missing lists the paths in a row of a table that do not exist. A file without a directory is one of the package before it.
func missing(tree fs.FS, row string) []string {
	var out []string
	dir := ""
	for _, m := range span.FindAllStringSubmatch(row, -1) {
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(m[1], "/..."), "/…"), "/")
		switch top, _, _ := strings.Cut(name, "/"); {
		case slices.Contains(tops, top) && !strings.ContainsAny(name, " ="):
			dir = name
		case path.Ext(name) == ".go" && top == name && dir != "":
			name = path.Join(dir, name)
		default:
			continue
		}
		if _, err := fs.Stat(tree, name); err != nil {
			out = append(out, name+" does not exist")
		}
	}
	return out
}

// described lists the packages that need a row: those that are not there for tests alone, and the directories below test.
func described(sources []Source) []string {
	var out []string
	for _, s := range sources {
		dir := path.Dir(s.Path)
		parts := strings.Split(dir, "/")
		switch {
		case strings.HasSuffix(s.Path, "_test.go") || dir == "examples" || strings.HasPrefix(dir, "deploy/"):
			continue
		case parts[0] == "test":
			dir = strings.Join(parts[:min(len(parts), 2)], "/")
		case strings.HasSuffix(dir, "test"):
			continue
		}
		if !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return out
}
