package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
)

// texts formats findings as "place: rule: text (reason)".
func texts(list []lint.Finding) []string {
	var out []string
	for i := range list {
		f := &list[i]
		text := fmt.Sprintf("%s: %s: %s", f.Place, f.Rule, f.Text())
		if f.Ignored != "" {
			text += " (" + f.Ignored + ")"
		}
		out = append(out, text)
	}
	return out
}

func TestAccept(t *testing.T) {
	at := func(rule string, severity lint.Severity, path string, document, line int) lint.Finding {
		return lint.Finding{
			Rule: rule, Severity: severity, Message: "x", Place: object.Place{Path: path, Document: document, Line: line},
			Ref: object.Ref{Kind: "NetworkPolicy", Namespace: "shop", Name: path},
		}
	}
	list := []lint.Finding{
		at(lint.NoDNS, lint.Warning, "a", 1, 4), at(lint.NoDNS, lint.Warning, "a", 1, 9), at(lint.NoDNS, lint.Warning, "a", 2, 4),
		at(lint.OpenToWorld, lint.Info, "a", 1, 4), at(lint.NotUnderstood, lint.Error, "a", 1, 4), at(lint.NoDNS, lint.Warning, "b", 1, 4),
	}
	comment := func(text string, line, first, last int) lint.Comment {
		return lint.Comment{Text: text, Place: object.Place{Path: "a", Document: 1, Line: line}, First: first, Last: last}
	}
	ignores, faults := lint.IgnoresIn([]lint.Comment{
		comment(" no-dns no names here", 3, 4, 5), comment("not-understood no", 3, 1, 99), comment("no-dsn misspelled", 20, 20, 20),
		comment("open-to-world", 21, 4, 4), comment("", 22, 22, 22),
	})
	require.Equal(t, []string{
		"a:21: invalid-ignore: open-to-world: expected a reason after the rule",
		"a:22: invalid-ignore: expected a rule and a reason: netloom:ignore RULE REASON",
	}, texts(faults))
	annotated, faults := lint.IgnoresOf(list[5].Ref, map[string]string{lint.IgnoreAnnotation: "\n no-dns  by an annotation\n\nopen-to-world never\n"}, list[5].Place)
	require.Empty(t, faults)
	ignores = append(ignores, annotated...)
	require.Equal(t, []string{
		"a:4: no-dns: x (no names here)", "a:9: no-dns: x", "a:4: no-dns: x", "a:4: open-to-world: x", "a:4: not-understood: x",
		"b:4: no-dns: x (by an annotation)",
	}, texts(lint.Accept(list, ignores)))
	require.Equal(t, []string{
		"a:3: unused-ignore: not-understood: no such finding here",
		`a:20: unused-ignore: no-dsn: unknown rule; did you mean "no-dns"?`,
		"b:4: unused-ignore: metadata.annotations: open-to-world: no such finding here",
	}, texts(lint.Unused(ignores, nil)))
	require.Len(t, lint.Unused(ignores, []string{lint.OpenToWorld}), 2, "a rule that is not looked for")
}

func TestIgnoresAreLimited(t *testing.T) {
	lines := strings.Repeat("no-dns reason\n", 3000)
	ignores, faults := lint.IgnoresOf(object.Ref{Kind: "NetworkPolicy"}, map[string]string{lint.IgnoreAnnotation: lines}, object.Place{})
	require.Len(t, ignores, 1000)
	require.Len(t, faults, 1)
	comments := make([]lint.Comment, 3000)
	for i := range comments {
		comments[i].Text = "no-dns reason"
	}
	ignores, faults = lint.IgnoresIn(comments)
	require.Len(t, ignores, 1000)
	require.Len(t, faults, 1)
}
