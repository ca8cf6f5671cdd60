package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the output that the documentation shows")

// TestDocsShowRealOutput runs the commands in the console blocks of docs/commands, some other pages of docs and README.md, and compares
// what they print. A block whose last line is … shows the beginning only.
func TestDocsShowRealOutput(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	pages, err := filepath.Glob(filepath.Join("docs", "commands", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	others := []string{"README.md"}
	for _, page := range []string{"clusters.md", "index.md", "staged.md"} {
		others = append(others, filepath.Join("docs", page))
	}
	for _, page := range append(pages, others...) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			parts := strings.Split(string(text), "```")
			for i := 1; i < len(parts); i += 2 {
				if block, ok := strings.CutPrefix(parts[i], "console\n"); ok {
					parts[i] = "console\n" + play(t, block)
				}
			}
			now := strings.Join(parts, "```")
			if *update {
				require.NoError(t, os.WriteFile(page, []byte(now), 0o600))
				return
			}
			require.Equal(t, string(text), now, "make golden rewrites it")
		})
	}
}

// play runs the commands of a block and returns it with what they print now.
func play(t *testing.T, block string) string {
	t.Helper()
	var out strings.Builder
	var last outcome
	shown := -1 // lines of output that are shown of an elided one
	if head, ok := strings.CutSuffix(block, "\n…\n"); ok {
		_, rest, _ := strings.Cut(head, "\n")
		shown = strings.Count(rest, "\n") + 1
	}
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !ok {
			continue
		}
		out.WriteString("$ " + command + "\n")
		if command == "echo $?" {
			fmt.Fprintln(&out, last.code)
			continue
		}
		args := words(command)
		require.Equal(t, "netloom", args[0], "only netloom is run: %s", command)
		last = netloom(t, args[1:]...)
		printed := inOrder(last)
		if shown >= 0 {
			lines := strings.SplitAfter(printed, "\n")
			require.Greater(t, len(lines)-1, shown, "nothing is left out: %s", command)
			printed = strings.Join(lines[:shown], "") + "…\n"
		}
		out.WriteString(printed)
	}
	return out.String()
}

// inOrder is the output as a user sees it: problems come before the answer, and the error after it.
func inOrder(o outcome) string {
	var before, after strings.Builder
	for line := range strings.Lines(o.errout) {
		if strings.HasPrefix(line, "netloom: ") {
			after.WriteString(line)
		} else {
			before.WriteString(line)
		}
	}
	return before.String() + o.out + after.String()
}

// words takes a command line apart as a shell does, as far as quotes go.
func words(line string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				out = append(out, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		out = append(out, word.String())
	}
	return out
}
