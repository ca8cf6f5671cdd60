// Package script parses scripts: a title, one step per line, then files. The caller interprets the steps.
package script

import (
	"errors"
	"fmt"
	"strings"
)

// Script is a parsed file.
type Script struct {
	Title string
	Steps []Step
	Files map[string]string // manifests by name
}

// Step is one line that does or checks something.
type Step struct {
	Line  int
	Text  string
	Words []string // of Text; at least one
}

// Errorf returns an error about a step, with its position.
func (s Step) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", s.Line, s.Text, fmt.Sprintf(format, args...))
}

// Parse parses a script. It does not interpret the steps.
func Parse(content string) (*Script, error) {
	s := &Script{Files: make(map[string]string)}
	file := ""
	for i, line := range strings.Split(content, "\n") {
		if name, ok := sectionName(line); ok {
			if _, twice := s.Files[name]; twice {
				return nil, fmt.Errorf("line %d: there are two files %q", i+1, name)
			}
			file = name
			s.Files[file] = ""
			continue
		}
		if file != "" {
			s.Files[file] += line + "\n"
			continue
		}
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "#"):
			if s.Title == "" {
				s.Title = strings.TrimSpace(strings.TrimPrefix(text, "#"))
			}
		case text != "":
			s.Steps = append(s.Steps, Step{Line: i + 1, Text: text, Words: strings.Fields(text)})
		}
	}
	if s.Title == "" {
		return nil, errors.New("the first line has to say what the script shows, after a #")
	}
	return s, nil
}

func sectionName(line string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
	if !ok {
		return "", false
	}
	name, ok = strings.CutSuffix(name, " --")
	return name, ok && name != ""
}
