package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// An outcome is what became of a mutant; only killed is good.
type outcome string

const (
	killed      outcome = "killed"
	survived    outcome = "SURVIVED"
	unapplied   outcome = "does not apply"
	uncompiled  outcome = "does not compile"
	unnamed     outcome = "names no test"
	unsound     outcome = "its test fails without it"
	unexplained outcome = "fails outside its test"
)

// A report is what go test said of one package.
type report struct {
	passed   []string // tests and subtests
	failed   []string // those that were running when the program ended among them
	build    string   // what the compiler said, if it refused
	failure  bool     // the command failed
	complete string   // all output
}

// event is one line of go test -json.
type event struct {
	Action, Test, Output, FailedBuild string
}

// goTest runs go test in dir, with the files of an overlay ("" for none) in place of those in the tree.
func goTest(dir, overlay string, k killer, o options) (report, error) {
	args := []string{"test"}
	flags := strings.Fields(k.flags)
	if len(flags) > 1 && flags[0] == "-C" { // go test wants it first
		args, flags = append(args, flags[:2]...), flags[2:]
	}
	args = append(args, "-json", "-count=1", "-vet=off")
	if !strings.Contains(k.flags, "-timeout") {
		args = append(args, "-timeout", o.timeout.String())
	}
	args = append(args, flags...)
	args = append(args, "-run", k.run, k.room)
	args = append(args, strings.Fields(k.args)...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = os.Environ()
	if strings.Contains(k.flags, "-race") {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
	}
	if overlay != "" { // in the environment, because tests build programs of the same tree
		cmd.Env = append(cmd.Env, strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return report{}, fmt.Errorf("go test: %w", err)
	}
	r, parseErr := events(&out)
	r.failure = err != nil
	r.complete += said.String()
	if r.failure && len(r.passed)+len(r.failed) == 0 && strings.Contains(said.String(), "go: ") {
		r.build += said.String()
	}
	return r, parseErr
}

// events reads what go test -json writes.
func events(in io.Reader) (report, error) {
	var r report
	running := map[string]bool{}
	var order []string
	var all, build strings.Builder
	refused := false
	for stream := json.NewDecoder(in); ; {
		var e event
		if err := stream.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return r, fmt.Errorf("read the output of go test: %w", err)
		}
		switch e.Action {
		case "run":
			running[e.Test] = true
			order = append(order, e.Test)
		case "output":
			all.WriteString(e.Output)
		case "build-output":
			build.WriteString(e.Output)
		case "pass", "fail", "skip":
			refused = refused || e.FailedBuild != ""
			if e.Test == "" {
				continue
			}
			delete(running, e.Test)
			switch e.Action {
			case "pass":
				r.passed = append(r.passed, e.Test)
			case "fail":
				r.failed = append(r.failed, e.Test)
			}
		}
	}
	for _, test := range order {
		if running[test] {
			r.failed = append(r.failed, test)
		}
	}
	r.complete = all.String()
	if refused {
		r.build = build.String()
	}
	return r, nil
}

// attempt plants a mutant and runs its tests, one killer after the other until one kills it.
func attempt(m mutant, sound map[killer]outcome, o options) result {
	began := time.Now()
	r := result{mutant: m}
	defer func() { r.seconds = time.Since(began).Seconds() }()
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		r.outcome, r.detail = unapplied, err.Error()
		return r
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tree, overlay, err := plant(m, o.tree, dir)
	if err != nil {
		r.outcome, r.detail = unapplied, err.Error()
		return r
	}
	for _, k := range m.killers {
		if r.outcome, r.detail = sound[k], ""; r.outcome != "" {
			continue
		}
		said, err := goTest(tree, overlay, k, o)
		if r.outcome, r.detail = judge(said, k); err != nil {
			r.outcome, r.detail = unexplained, err.Error()
		}
		if r.outcome == killed {
			r.by = k
			break
		}
	}
	r.seconds = time.Since(began).Seconds()
	return r
}

// judge says what a run of its tests shows of a mutant, and which test failed or what was said instead.
func judge(said report, k killer) (outcome, string) {
	if said.build != "" {
		return uncompiled, said.build
	}
	for _, test := range said.failed {
		if k.matches(test) {
			return killed, first(said.failed, test)
		}
	}
	if said.failure {
		return unexplained, said.complete
	}
	return survived, ""
}

// first prefers the deepest name below a test that failed: the line of a table.
func first(failed []string, test string) string {
	for _, other := range failed {
		if strings.HasPrefix(other, test+"/") {
			test = other
		}
	}
	return test
}

// baseline runs the tests of all mutants without any, once for each package, and returns what is wrong with which.
func baseline(mutants []mutant, o options) (map[killer]outcome, error) {
	var order []killer
	groups := map[killer][]killer{}
	for _, m := range mutants {
		for _, k := range m.killers {
			group := killer{flags: k.flags, room: k.room, args: k.args}
			if len(groups[group]) == 0 {
				order = append(order, group)
			}
			groups[group] = append(groups[group], k)
		}
	}
	wrong := map[killer]outcome{}
	for _, group := range order {
		runs := make([]string, len(groups[group]))
		for i, k := range groups[group] {
			runs[i] = k.run
		}
		together := group
		together.run = strings.Join(runs, "|")
		said, err := goTest(o.tree, "", together, o)
		if err != nil {
			return nil, err
		}
		for _, k := range groups[group] {
			if bad := soundness(said, k); bad != "" {
				wrong[k] = bad
				fmt.Printf("%s: %s\n%s\n", k, bad, tail(said.build+said.complete, 15))
			}
		}
	}
	return wrong, nil
}

// soundness returns "" if the tests of a killer ran and passed without a mutant.
func soundness(said report, k killer) outcome {
	passed := false
	for _, test := range said.passed {
		passed = passed || k.matches(test)
	}
	for _, test := range said.failed {
		if k.matches(test) {
			return unsound
		}
	}
	switch {
	case passed:
		return ""
	case said.failure:
		return unsound
	}
	return unnamed
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// within returns the path of a file in the tree, for the overlay.
func within(tree, file string) string { return filepath.Join(tree, filepath.FromSlash(file)) }
