package scenario

import (
	"fmt"
	"strings"
)

// script is a file taken apart.
type script struct {
	title string
	steps []step
	files map[string]string // manifests by name
}

// step is one line that does or checks something.
type step struct {
	line  int
	text  string
	words []string
}

func (s step) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s: %s", s.line, s.text, fmt.Sprintf(format, args...))
}

// parse takes a script apart. It does not look into the steps.
func parse(content string) (*script, error) {
	s := &script{files: make(map[string]string)}
	file := ""
	for i, line := range strings.Split(content, "\n") {
		if name, ok := sectionName(line); ok {
			if _, twice := s.files[name]; twice {
				return nil, fmt.Errorf("line %d: there are two files %q", i+1, name)
			}
			file = name
			s.files[file] = ""
			continue
		}
		if file != "" {
			s.files[file] += line + "\n"
			continue
		}
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "#"):
			if s.title == "" {
				s.title = strings.TrimSpace(strings.TrimPrefix(text, "#"))
			}
		case text != "":
			s.steps = append(s.steps, step{line: i + 1, text: text, words: strings.Fields(text)})
		}
	}
	if s.title == "" {
		return nil, fmt.Errorf("the first line has to say what the script shows, after a #")
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
