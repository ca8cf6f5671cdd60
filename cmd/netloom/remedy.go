package main

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/answers/question"
)

// asTyped is a question in the form of the examples.
func asTyped(q question.Question) string {
	if q.Port == "" {
		return q.From + "->" + q.To
	}
	return q.From + "->" + q.To + ":" + q.Port
}

// remedy is a line with the command that writes policies for connections; "" if there are none, it cannot answer for several clusters, or
// such an answer is expected.
func (o *probeOptions) remedy(cmd *cobra.Command, connections []string) string {
	suggest := newSuggest()
	if len(connections) == 0 || o.expect != "" || cmd.Flags().Changed("peer-manifests") || cmd.Flags().Changed("cluster") {
		return ""
	}
	words := []string{strings.TrimSuffix(cmd.CommandPath(), cmd.Name()) + suggest.Name()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if same := suggest.Flags().Lookup(f.Name); same == nil || f.Name == "output" {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand
		}
		for _, value := range values {
			if f.NoOptDefVal != "" {
				words = append(words, name)
			} else {
				words = append(words, name, shellWord(value))
			}
		}
	})
	for _, c := range connections {
		words = append(words, shellWord(c))
	}
	return "\nfor policies that allow this and nothing else: " + strings.Join(words, " ") + "\n"
}

// plainWord matches what a POSIX shell reads as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellWord quotes a text for a POSIX shell if necessary.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
