package bucket

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		name, pattern, text string
		want                bool
	}{
		{"the same word", "mwan3rules", "mwan3rules", true},
		{"another word", "mwan3rules", "mwan3policies", false},
		{"a beginning is not the whole", "mwan3", "mwan3rules", false},
		{"an end is not the whole", "rules", "mwan3rules", false},
		{"longer than the text", "mwan3rules2", "mwan3rules", false},
		{"capitals matter", "Mwan3Rules", "mwan3rules", false},
		{"a star is everything", "*", "mwan3rules", true},
		{"a star is nothing too", "mwan3rules*", "mwan3rules", true},
		{"a star at the end", "mwan3*", "mwan3policies", true},
		{"a star at the beginning", "*rules", "mwan3rules", true},
		{"a star in the middle", "m*s", "mwan3rules", true},
		{"several stars", "*an*ul*", "mwan3rules", true},
		{"stars that come too late", "*ul*an*", "mwan3rules", false},
		{"stars in a row", "mwan3***", "mwan3rules", true},
		{"a star goes on where it must", "*ab", "aab", true},
		{"a question mark is one character", "mwan?rules", "mwan3rules", true},
		{"a question mark is not none", "mwan3rules?", "mwan3rules", false},
		{"a question mark is not two", "app?intent", "app--intent", false},
		{"both", "??p-*", "app-intent", true},
		{"an empty pattern is nothing", "", "app-intent", false},
		{"an empty pattern is the empty text", "", "", true},
		{"a star is the empty text", "*", "", true},
		{"a question mark is not the empty text", "?", "", false},
		{"other signs of regular expressions are themselves", "app.intent", "app-intent", false},
		{"brackets are themselves", "[a]pp", "app", false},
		{"a backslash is itself", `app\*`, "app*", false},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, match(tc.pattern, tc.text)) })
	}
}

// TestMatchStaysCheap runs a pattern for which a matcher that tries every way would need longer than the universe is old.
func TestMatchStaysCheap(t *testing.T) {
	require.False(t, match(strings.Repeat("*a", 5000)+"b", strings.Repeat("a", 63)))
}

func FuzzMatch(f *testing.F) {
	f.Add("mwan3*", "mwan3rules")
	f.Add("*a?b*", "aabab")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 100 || len(text) > 100 {
			return
		}
		// Bytes, spelt as characters that no expression has a meaning for.
		wide := func(s string) string {
			var out strings.Builder
			for i := range len(s) {
				out.WriteRune(rune(s[i]) + 0x4e00)
			}
			return out.String()
		}
		expr := strings.NewReplacer(wide("*"), "(?s:.*)", wide("?"), "(?s:.)").Replace(wide(pattern))
		require.Equal(t, regexp.MustCompile("^(?:"+expr+")$").MatchString(wide(text)), match(pattern, text))
	})
}
