package acllog_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/acllog"
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
		write(t, path, "one\ntw")
		look("one")
		write(t, path, "o\n")
		look("two")
		write(t, path, "three\n")
		require.NoError(t, os.Rename(path, path+".1"))
		write(t, path+".1", "four\nfi")
		look("three", "four")
		write(t, path+".1", "ve")
		write(t, path, "six\n")
		look("five", "six")
		require.NoError(t, os.Truncate(path, 0))
		write(t, path, "7\n")
		look("7")
		require.NoError(t, os.Remove(path))
		look()
		write(t, path, "eight\n")
		look("eight")
		stop()
		require.NoError(t, <-done)
	})
}

func TestFollowWhatCannotBeRead(t *testing.T) {
	err := acllog.Follow(t.Context(), filepath.Join(t.TempDir(), strings.Repeat("x", 300)), func([]byte) {})
	require.ErrorContains(t, err, "follow ")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.WriteString(text)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// BenchmarkRead reads and parses lines, of which each has another port.
func BenchmarkRead(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "%s%s%s\n", own, fields, strings.Replace(tcp, "tp_dst=5432", fmt.Sprint("tp_dst=", i), 1))
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
