package object

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Line is text on one line that a terminal takes for nothing but text: line breaks, control characters and all others that are
// not printed, such as those that turn the direction of writing, stand as Go spells them, "\n" or "\u202e". What somebody else
// wrote, such as names and values of objects, can so neither pass for a line of its own nor command a terminal.
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
