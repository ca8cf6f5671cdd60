package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// module is the prefix of the packages of this module, and of those that are nested in it.
const module = "github.com/netloom/netloom"

// failure is something that a log reports.
type failure struct {
	test    string // "" if the whole package failed, for example because it does not compile
	pkg     string // its directory; "" if it is no test at all
	repeat  string // the command that runs the test alone
	log     string
	line    int    // of the log
	message string // what the test says, empty if it says nothing
	text    string // instead of the above, what the log says of something else than tests
}

var (
	command    = regexp.MustCompile(`^\s*(?:[A-Z_]+=\S+ )*(?:nice )?go test (.*)$`)
	failedTest = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	// stuck is a line of the list that go test prints when the time is over.
	stuck      = regexp.MustCompile(`^\t+(Test\S+) \([0-9hms.]+\)$`)
	failedRoom = regexp.MustCompile(`^(?:FAIL|---)\t(\S+)\s`)
)

// read returns the failures of a log, in its order.
func read(name, text string) []failure {
	var all, pending []failure
	last := "" // the arguments of the last go test
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := command.FindStringSubmatch(line); m != nil {
			last = m[1]
			continue
		}
		test := failedTest.FindStringSubmatch(line)
		if test != nil {
			pending = append(pending, failure{test: test[1], log: name, line: i + 1, message: messageOf(lines[i+1:])})
			continue
		}
		if test = stuck.FindStringSubmatch(line); test != nil {
			pending = append(pending, failure{test: test[1], log: name, line: i + 1, message: "it did not end"})
			continue
		}
		room := failedRoom.FindStringSubmatch(line)
		if room == nil {
			continue
		}
		if len(pending) == 0 {
			pending = []failure{{log: name, line: i + 1}}
		}
		for _, f := range innermost(pending) {
			f.pkg, f.repeat = repeat(last, room[1], f.test)
			all = append(all, f)
		}
		pending = nil
	}
	return append(all, innermost(pending)...)
}

// innermost leaves out tests that failed because one of their subtests did.
func innermost(all []failure) []failure {
	var inner []failure
	for i, f := range all {
		above := func(o failure) bool { return strings.HasPrefix(o.test, f.test+"/") || o.test == f.test }
		if f.test == "" || !slices.ContainsFunc(all[i+1:], above) && !slices.ContainsFunc(all[:i], func(o failure) bool {
			return strings.HasPrefix(o.test, f.test+"/")
		}) {
			inner = append(inner, f)
		}
	}
	return inner
}

// withValue are the flags of go test in the Makefile whose value is the next word.
var withValue = []string{"-C", "-tags", "-timeout", "-run", "-skip", "-bench", "-benchtime", "-p", "-parallel", "-count"}

// repeat returns the directory of a package, and the command that runs one test of it with the flags of another command.
func repeat(args, pkg, test string) (dir, line string) {
	dir = strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
	var before, after []string
	args, _, _ = strings.Cut(args, "$(") // packages that a command lists
	words := strings.Fields(args)
	inner := "" // the directory of the nested module
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case !strings.HasPrefix(word, "-"): // a package
		case slices.Contains([]string{"-run", "-skip", "-p", "-count"}, word):
			i++
		case strings.HasPrefix(word, "-count="):
		case word == "-C" && i+1 < len(words):
			before = append(before, word, words[i+1])
			dir = strings.TrimPrefix(strings.TrimPrefix(dir, words[i+1]), "/")
			inner = words[i+1]
			i++
		case slices.Contains(withValue, word) && i+1 < len(words):
			before = append(before, word, words[i+1])
			i++
		case ownFlag(word):
			after = append(after, word)
			if !strings.Contains(word, "=") && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !strings.HasPrefix(words[i+1], "./") {
				after = append(after, words[i+1])
				i++
			}
		default:
			before = append(before, word)
		}
	}
	line = "go test"
	if slices.Contains(before, "-race") {
		line = "CGO_ENABLED=1 " + line
	}
	all := append([]string{line}, before...)
	if test != "" {
		all = append(all, "-run", pattern(test))
	}
	room := "."
	if dir != "" {
		room = "./" + dir
	}
	return path.Join(inner, room), strings.Join(append(append(all, room), after...), " ")
}

// ownFlag reports whether a flag is one of a test, which belongs behind the package.
func ownFlag(word string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return !slices.Contains([]string{"race", "short", "v", "tags", "timeout", "benchmem", "trimpath", "overlay", "vet", "cpu", "failfast"}, name)
}

// pattern is the -run of one test. go test puts a number behind the second of two subtests with one name, which is left.
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return "'" + strings.Join(parts, "/") + "'"
}

// finding is a line of a compiler or linter.
var finding = regexp.MustCompile(`^\S+\.go:\d+`)

// telling returns the first n lines that name a place in a file, or the last n lines if none does.
func telling(text string, n int) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	found := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !finding.MatchString(l) })
	if len(found) > 0 {
		return strings.Join(found[:min(n, len(found))], "\n")
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// limit is how many failures are shown: four lines each.
const limit = 8

// format writes up to four lines for each failure.
func format(all []failure) string {
	var b strings.Builder
	for i, f := range all {
		if i == limit {
			fmt.Fprintf(&b, "and %d more: see the logs\n", len(all)-limit)
			break
		}
		switch {
		case f.text != "" || f.repeat == "" && f.test == "":
			fmt.Fprintf(&b, "%s\n%s\n", f.log, indent(f.text))
		case f.test == "":
			fmt.Fprintf(&b, "%s did not run\n    %s\n    %s:%d\n", f.pkg, f.repeat, f.log, f.line)
		default:
			fmt.Fprintf(&b, "%s of %s\n    %s\n    %s:%d\n", f.test, f.pkg, f.repeat, f.log, f.line)
			if f.message != "" {
				fmt.Fprintf(&b, "    %s\n", f.message)
			}
		}
	}
	return b.String()
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
