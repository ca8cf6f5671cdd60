// Command workload prints the manifests of W(n), for measurements of a whole daemon: go run ./test/bench/workload 1000.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/netloom/netloom/test/policygen"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	n := 1000
	if len(args) > 0 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 {
			return fmt.Errorf("%q: expected a number of pods", args[0])
		}
	}
	text, err := policygen.YAML(policygen.Workload(n))
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
