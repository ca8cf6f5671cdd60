package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
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
	flags := flag.NewFlagSet("sbom", flag.ContinueOnError)
	inOther := flags.Bool("spdx", false, "write SPDX 2.3 instead of CycloneDX 1.6")
	locked := flags.String("npm", "", "package-lock.json of what is embedded in the program")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("expected one program")
	}
	program := flags.Arg(0)
	content, err := os.ReadFile(program) //nolint:gosec // the file is named by the user
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	var embedded []component
	if *locked != "" {
		text, err := os.ReadFile(*locked)
		if err != nil {
			return err
		}
		if embedded, err = npmPackages(text); err != nil {
			return fmt.Errorf("%s: %w", *locked, err)
		}
	}
	bill, err := describe(info, content, embedded...)
	if err != nil {
		return err
	}
	out := json.NewEncoder(to)
	out.SetIndent("", "  ")
	if *inOther {
		return out.Encode(inSPDX(bill))
	}
	return out.Encode(bill)
}
