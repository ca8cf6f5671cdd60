package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, to io.Writer) error {
	inOther := len(args) > 0 && args[0] == "-spdx"
	if inOther {
		args = args[1:]
	}
	if len(args) != 1 {
		return errors.New("expected one program")
	}
	content, err := os.ReadFile(args[0]) //nolint:gosec // the file is named by the user
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	bill, err := describe(info, content)
	if err != nil {
		return err
	}
	out := json.NewEncoder(to)
	out.SetIndent("", "  ")
	if inOther {
		return out.Encode(inSPDX(bill))
	}
	return out.Encode(bill)
}
