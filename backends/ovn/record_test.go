package ovn

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecordOrder(t *testing.T) {
	for _, tc := range []struct {
		name  string
		r, o  record
		after bool
	}{
		{"the same claim", record{7, "a"}, record{7, "a"}, false},
		{"a larger number", record{8, "a"}, record{7, "a"}, true},
		{"a smaller number", record{6, "b"}, record{7, "a"}, false},
		{"the same number by another", record{7, "b"}, record{7, "a"}, true},
		{"no record", record{}, record{1, "a"}, false},
		{"before the first", record{1, "a"}, record{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.after, tc.r.after(tc.o)) })
	}
}

// FuzzRecord checks that what is written can be read again, and that nothing else is taken for a claim.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{"1 a", "01 a", "7", "7 a b", "4611686018427387904 x", "\x00", "7 " + strings.Repeat("x", 200)} {
		f.Add(seed, uint64(7))
	}
	f.Fuzz(func(t *testing.T, text string, generation uint64) {
		if r, ok := parseRecord(text); ok {
			require.Equal(t, text, r.String())
			require.NotZero(t, r.generation)
			require.LessOrEqual(t, len(text), 150)
		}
		want := record{generation: generation%maxGeneration + 1, holder: holderText(text)}
		got, ok := parseRecord(want.String())
		require.True(t, ok, want.String())
		require.Equal(t, want, got)
		require.Equal(t, want.holder, holderText(want.holder))
	})
}
