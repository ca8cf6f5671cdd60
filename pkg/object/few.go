package object

import (
	"fmt"
	"strings"
)

// Few lists the first names of objects for a message, at most so many, and how many more there are: "a, b and 3 more". It returns "" for
// no names.
func Few(names []string, most int) string {
	shown := names[:min(len(names), most)]
	text := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
