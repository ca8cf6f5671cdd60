package object

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line formats text on one line that is safe for a terminal: line breaks, control characters and all other non-printable
// characters, such as those that change the direction of writing, are escaped as in Go, "\n" or "\u202e". So text from
// others, such as names and values of objects, can neither pass for a separate line nor control a terminal.
func Line(text string) string {
	clean := true
	for _, r := range text {
		clean = clean && r != utf8.RuneError && strconv.IsPrint(r)
	}
	if clean {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		part := text[:size]
		text = text[size:]
		if strconv.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(part)
			continue
		}
		quoted := strconv.Quote(part)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
