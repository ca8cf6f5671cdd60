package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Files of the directory that is kept.
const (
	reached  = "next.json"
	failures = "failures.txt"
)

// progress is where exploring goes on. It is kept in a directory after each turn.
type progress struct {
	dir  string
	Next map[string]uint64 // for each random test, the first seed that it has not run with
	Last string            // what had the last turn
}

// load reads what a run before this one has kept.
func load(dir string) (*progress, error) {
	p := &progress{dir: dir, Next: map[string]uint64{}}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, reached))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, p); err != nil {
		return nil, fmt.Errorf("%s: %w", reached, err)
	}
	return p, nil
}

// next returns the seed to go on with. A test that was never explored begins at the clock, so that two machines explore
// different seeds.
func (p *progress) next(name string) uint64 {
	if p.Next[name] == 0 {
		p.Next[name] = uint64(time.Now().Unix())
	}
	return p.Next[name]
}

// done notes that a test has run with all seeds before next.
func (p *progress) done(name string, next uint64) error {
	p.Next[name] = next
	return p.write()
}

// turned notes who had a turn.
func (p *progress) turned(name string) error {
	p.Last = name
	return p.write()
}

func (p *progress) write() error {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	draft := filepath.Join(p.dir, reached+".new")
	if err := os.WriteFile(draft, data, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, filepath.Join(p.dir, reached))
}

// keep appends a finding to those of all runs.
func (p *progress) keep(f finding) error {
	file, err := os.OpenFile(filepath.Join(p.dir, failures), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s:\n%s\n    %s\n", f.name, f.line, f.repeat)
	return errors.Join(err, file.Close())
}
