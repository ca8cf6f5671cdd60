package object_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/object"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		`Pod shop/web-0: "a\b" – ü €`: `Pod shop/web-0: "a\b" – ü €`,
		"a\nok\r\tb":                  `a\nok\r\tb`,
		"\x1b[2J\x00\x7f":             `\x1b[2J\x00\x7f`,
		"\u202eevil\u2028":            `\u202eevil\u2028`,
		"\u009b31m":                   `\u009b31m`,
		"a\xffb\ufffd":                "a\\xffb\ufffd",
	} {
		require.Equal(t, want, object.Line(text))
		require.Equal(t, want, object.Line(want), "it changes nothing that is clean")
	}
}
