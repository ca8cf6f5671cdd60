// Command failures names the tests that failed according to logs of `make` targets that run go test:
//
//	go run ./test/failures LOG...
//
// For each it prints the test and its package, the command that runs it alone, where the log says what happened, and the
// beginning of that. A log without a failed test is of something else that failed: of that it prints two lines. The output has at most 36 lines.
package main

import (
	"fmt"
	"os"
)

func main() {
	var all []failure
	for _, name := range os.Args[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "failures:", err)
			os.Exit(1)
		}
		found := read(name, string(data))
		if len(found) == 0 {
			found = []failure{{log: name, line: 1, text: telling(string(data), 2)}}
		}
		all = append(all, found...)
	}
	fmt.Print(format(all))
}
