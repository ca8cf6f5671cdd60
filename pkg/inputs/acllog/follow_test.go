package acllog_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
)

func TestLinesOfAnyLength(t *testing.T) {
	long := strings.Repeat("x", 3*acllog.MaxLine)
	var got []string
	n, err := acllog.Read(t.Context(), strings.NewReader("one\r\n\n"+long+"\ntwo\n"+long+"y"), func(line []byte) { got = append(got, string(line)) })
	require.NoError(t, err)
	require.Equal(t, []string{"one", "", "two"}, got)
	require.Equal(t, 2, n)
	got = nil
	fits := strings.Repeat("x", acllog.MaxLine-1)
	n, err = acllog.Read(t.Context(), io.MultiReader(strings.NewReader(fits[:7]), strings.NewReader(fits[7:]+"\nlast")), func(line []byte) { got = append(got, string(line)) })
	require.NoError(t, err)
	require.Equal(t, []string{fits, "last"}, got)
	require.Zero(t, n)
}

// TestFollow renames, truncates and removes a file while it is followed.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ovn-controller.log")
		var got []string
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- acllog.Follow(ctx, path, func(line []byte) { got = append(got, string(line)) })
		}()
		look := func(want ...string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, want, got)
			got = nil
		}
		look()
		acllogtest.Append(t, path, "one\ntw")
		look("one")
		acllogtest.Append(t, path, "o\n")
		look("two")
		acllogtest.Append(t, path, "three\n")
		require.NoError(t, os.Rename(path, path+".1"))
		acllogtest.Append(t, path+".1", "four\nfi")
		look("three", "four")
		acllogtest.Append(t, path+".1", "ve")
		acllogtest.Append(t, path, "six\n")
		look("five", "six")
		require.NoError(t, os.Truncate(path, 0))
		acllogtest.Append(t, path, "7\n")
		look("7")
		require.NoError(t, os.Remove(path))
		look()
		acllogtest.Append(t, path, "eight\n")
		look("eight")
		stop()
		require.NoError(t, <-done)
	})
}

func TestFollowWhatCannotBeRead(t *testing.T) {
	err := acllog.Follow(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 300)), func([]byte) {})
	require.ErrorContains(t, err, "follow ")
}

// BenchmarkRead reads and parses lines, of which each has another port.
func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		text.WriteString(acllogtest.Line(now, "shop/db ingress", acllog.Drop, "10.0.0.1", "10.0.0.2", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		_, err := acllog.Read(b.Context(), strings.NewReader(text.String()), func(line []byte) {
			if _, ok := acllog.Parse(string(line), now); ok {
				n++
			}
		})
		require.NoError(b, err)
		require.Equal(b, 10_000, n)
	}
	b.ReportMetric(float64(10_000*b.N)/b.Elapsed().Seconds(), "lines/s")
}

// TestFollowAPipe reads a named pipe, as journalctl may write to it, with and without a writer.
func TestFollowAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acl")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	lines := make(chan string, 8)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- acllog.Follow(ctx, path, func(line []byte) { lines <- string(line) }) }()
	for _, text := range []string{"one", "two"} {
		writer, err := os.OpenFile(path, os.O_WRONLY, 0) // waits for the reader
		require.NoError(t, err)
		_, err = io.WriteString(writer, text+"\n")
		require.NoError(t, err)
		require.Equal(t, text, <-lines)
		if text == "one" {
			require.NoError(t, writer.Close())
			continue
		}
		stop() // while the writer is silent
		require.NoError(t, <-done)
		require.NoError(t, writer.Close())
	}
}
