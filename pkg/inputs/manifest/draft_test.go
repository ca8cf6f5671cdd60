package manifest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// inUTF16 is text in UTF-16, big end first, with a byte order mark.
func inUTF16(text string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b.WriteByte(byte(u >> 8))
		b.WriteByte(byte(u & 0xff))
	}
	return b.String()
}

// TestSlowlyWrittenFile reads a file while it is written: what it declared is removed only once the file has not changed
// for a while, and what it adds counts at once.
func TestSlowlyWrittenFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := NewDirectory(dir, Options{}, quiet())
		read := func() { d.read(func(string) {}, true) }
		all := pod("a", "v1") + pod("b", "v1") + pod("c", "v1")
		write(t, dir, "a.yaml", all)
		read()
		require.Equal(t, []string{"a v1", "b v1", "c v1"}, pods(d))
		for _, part := range []string{pod("a", "v2"), pod("a", "v2") + pod("b", "v2"), pod("a", "v2") + pod("b", "v2") + strings.TrimSuffix(pod("c", "v2"), "\n")} {
			write(t, dir, "a.yaml", part)
			read()
			time.Sleep(draftQuiet - 1)
			read()
			require.Equal(t, []string{"a v1", "b v1", "c v1"}, pods(d))
			require.Empty(t, d.Problems())
		}
		write(t, dir, "a.yaml", pod("a", "v2")+pod("b", "v2")+pod("c", "v2"))
		read()
		require.Equal(t, []string{"a v2", "b v2", "c v2"}, pods(d), "it is whole again")
		require.Empty(t, d.drafts)

		write(t, dir, "a.yaml", pod("b", "v2"))
		read()
		require.Equal(t, []string{"a v2", "b v2", "c v2"}, pods(d))
		time.Sleep(draftQuiet)
		read()
		require.Equal(t, []string{"b v2"}, pods(d), "it was left alone: that is what it says")

		for i := range 30 {
			write(t, dir, "a.yaml", strings.Repeat("#", 10+i%2))
			read()
			time.Sleep(draftQuiet)
		}
		require.Equal(t, []string{"b v2"}, pods(d))
		require.Equal(t, []string{"a.yaml: " + errDraft.Error()}, faults(d, dir))
		remove(t, dir, "a.yaml")
		read()
		require.Empty(t, pods(d), "a removed file is no draft")
		require.Empty(t, d.Problems())
	})
}

// TestSlowlyWrittenLastDocument reads a file while its last document is written: the file is longer than before and declares all
// that it did, but that object is not complete.
func TestSlowlyWrittenLastDocument(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := NewDirectory(dir, Options{}, quiet())
		read := func() { d.read(func(string) {}, true) }
		more := "# " + strings.Repeat("x", draftWhole) + "\n"
		write(t, dir, "a.yaml", pod("a", "v1")+pod("b", "v1"))
		read()
		write(t, dir, "a.yaml", more+pod("a", "v2")+pod("b", "v2"))
		read()
		require.Equal(t, []string{"a v1", "b v1"}, pods(d), "of b there may be more to come")
		time.Sleep(draftQuiet)
		read()
		require.Equal(t, []string{"a v2", "b v2"}, pods(d))

		write(t, dir, "a.yaml", more+pod("a", "v3")+pod("b", "v2"))
		read()
		require.Equal(t, []string{"a v3", "b v2"}, pods(d), "it ends as before: it is whole")
		write(t, dir, "a.yaml", pod("a", "v3")+pod("b", "v2")+pod("c", "v1"))
		time.Sleep(draftQuiet)
		read()
		time.Sleep(draftQuiet)
		read()
		write(t, dir, "a.yaml", pod("a", "v3")+pod("b", "v2")+pod("c", "v1")+pod("d", "v1"))
		read()
		require.Equal(t, []string{"a v3", "b v2", "c v1", "d v1"}, pods(d), "a short file is written in one piece")
	})
}
