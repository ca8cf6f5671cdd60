package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asProgram makes the test binary be netloom under any name, with the rest of the command line.
const asProgram = "TEST_AS_NETLOOM"

// TestMain runs the tests, or what the test binary is called.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if program := programs()[filepath.Base(os.Args[0])]; program != nil {
		if err := program(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFailed)
		}
		os.Exit(exitDone)
	}
	os.Exit(m.Run())
}

// programs are netloom and what examples and scripts run beside it, as far as they need it: a machine that runs the tests has
// Go, git and a POSIX shell.
func programs() map[string]func(args []string) error {
	return map[string]func([]string) error{
		"netloom":    func([]string) error { main(); return nil },
		"cat":        cat,
		"curl":       curl,
		"journalctl": func([]string) error { return cat([]string{filepath.Join("docs", "commands", "ovn-controller.log")}) },
		"kubectl":    kubectl,
		"mkdir":      func(args []string) error { return os.MkdirAll(args[len(args)-1], 0o700) },
		"mktemp": func([]string) error {
			dir, err := os.MkdirTemp("", "")
			fmt.Println(dir)
			return err
		},
	}
}

// installed returns a directory with all programs.
func installed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	for name := range programs() {
		require.NoError(t, os.Symlink(self, filepath.Join(dir, name)))
	}
	return dir
}

// cat prints files, or what it reads.
func cat(names []string) error {
	if len(names) == 0 {
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// curl sends a request with at most one header, and fails like curl --fail.
func curl(args []string) error {
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	header, data := flags.String("H", "", ""), flags.String("d", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	method := http.MethodGet
	if *data != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(context.Background(), method, flags.Arg(0), strings.NewReader(*data))
	if err != nil {
		return err
	}
	if name, value, given := strings.Cut(*header, ": "); given {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return errors.New(response.Status)
	}
	return nil
}

// kubectl gets the manifests of policies, runs what is to run in a pod, and prints what is to be applied.
func kubectl(args []string) error {
	switch args[0] {
	case "get":
		if slices.Contains(args, "networkpolicy") { // what stage makes of one, unless it is to be made
			if slices.Contains(args, "db") {
				return cat([]string{"new.yaml"})
			}
			return cat([]string{"staged.yaml"})
		}
		names, err := filepath.Glob(filepath.Join("policies", "*"))
		if err != nil {
			return err
		}
		return cat(names)
	case "exec":
		_, command, _ := strings.Cut(strings.Join(args, "\x00"), "\x00--\x00")
		words := strings.Split(command, "\x00")
		program, err := exec.LookPath(words[0])
		if err != nil {
			return err
		}
		return syscall.Exec(program, words, os.Environ())
	default:
		_, err := io.Copy(os.Stderr, os.Stdin)
		return err
	}
}
