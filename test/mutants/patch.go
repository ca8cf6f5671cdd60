package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A mutant is one patch and what its header says.
type mutant struct {
	name    string // of the file, without .patch
	what    string // what the defect does to a user, in a sentence
	found   string // the commit that once repaired it, or "planted"
	section string // of .ci/run, in which a test must see it
	killers []killer
	files   []string // that the patch changes, by their paths in the tree
	text    []byte
}

// room is the part of the name before its first hyphen.
func (m mutant) room() string {
	room, _, _ := strings.Cut(m.name, "-")
	return room
}

// onlyGo returns whether the go command can be given the changed files without a copy of the tree.
func (m mutant) onlyGo() bool {
	return !slices.ContainsFunc(m.files, func(file string) bool { return filepath.Ext(file) != ".go" })
}

// A killer names tests, of which at least one fails for the mutant: the flags of go test, a package, a regular expression
// as of -run, and the flags of the test program.
type killer struct {
	flags string
	room  string
	run   string
	args  string
}

func (k killer) String() string {
	return strings.Join(strings.Fields(k.flags+" "+k.room+" "+k.run), " ")
}

// read reads a patch. The mutant has its name even if the rest is wrong.
func read(file string) (mutant, error) {
	name := strings.TrimSuffix(filepath.Base(file), ".patch")
	text, err := os.ReadFile(file)
	if err != nil {
		return mutant{name: name}, err
	}
	m, err := parse(string(text))
	m.name = name
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return m, err
}

// parse reads the text of a patch: a header of lines KEY: VALUE, then unified diffs.
func parse(text string) (mutant, error) {
	m := mutant{section: "test", text: []byte(text)}
	var faults []error
	head := true
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "--- "):
			head = false
		case strings.HasPrefix(line, "+++ b/"):
			m.files = append(m.files, strings.TrimPrefix(line, "+++ b/"))
		case head && line != "":
			faults = append(faults, m.header(line))
		}
	}
	for _, miss := range []struct {
		missing bool
		what    string
	}{
		{m.what == "", "What"}, {m.found == "", "Found"}, {len(m.killers) == 0, "Killed-by"}, {len(m.files) == 0, "diff"},
	} {
		if miss.missing {
			faults = append(faults, fmt.Errorf("no %s", miss.what))
		}
	}
	return m, errors.Join(append(faults, lines.Err())...)
}

// header takes one line of the header.
func (m *mutant) header(line string) error {
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "What":
		m.what = value
	case "Found":
		m.found = value
	case "Section":
		m.section = value
	case "Killed-by":
		k, err := killing(value)
		m.killers = append(m.killers, k)
		return err
	default:
		return fmt.Errorf("unknown header %q", line)
	}
	return nil
}

// killing reads the value of Killed-by. Variables of the environment are put in: [FLAG...] PACKAGE REGEXP [FLAG...].
func killing(value string) (killer, error) {
	fields := strings.Fields(os.Expand(value, variable))
	i := slices.IndexFunc(fields, func(field string) bool { return field[0] == '.' && !afterFlag(fields, field) })
	if i < 0 || i+1 >= len(fields) {
		return killer{}, fmt.Errorf("killed by %q: expected [FLAG...] PACKAGE REGEXP [FLAG...]", value)
	}
	k := killer{strings.Join(fields[:i], " "), fields[i], fields[i+1], strings.Join(fields[i+2:], " ")}
	for _, part := range strings.Split(k.run, "/") {
		if _, err := regexp.Compile(part); err != nil {
			return k, fmt.Errorf("killed by %q: %w", value, err)
		}
	}
	return k, nil
}

// afterFlag returns whether a field is the directory of -C.
func afterFlag(fields []string, field string) bool {
	i := slices.Index(fields, field)
	return i > 0 && fields[i-1] == "-C"
}

// variable leaves the dollar of a regular expression alone.
func variable(name string) string {
	if value, ok := os.LookupEnv(name); ok && regexp.MustCompile(`^[A-Z_]+$`).MatchString(name) {
		return value
	}
	return "$" + name
}

// matches returns whether a killer's regular expression selects the test, as -run does: part for part between slashes.
func (k killer) matches(test string) bool {
	names := strings.Split(test, "/")
	for i, part := range strings.Split(k.run, "/") {
		if i >= len(names) {
			break
		}
		if ok, err := regexp.MatchString(part, names[i]); !ok || err != nil {
			return false
		}
	}
	return true
}
