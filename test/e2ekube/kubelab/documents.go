//go:build e2e

package kubelab

import "strings"

// documents splits a stream of YAML into its documents.
func documents(stream string) []string {
	var all []string
	var current strings.Builder
	for line := range strings.Lines(stream) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			all = append(all, current.String())
			current.Reset()
			continue
		}
		current.WriteString(line)
	}
	return append(all, current.String())
}
