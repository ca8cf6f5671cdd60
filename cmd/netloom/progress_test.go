package main

import (
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

func TestProgressIsShownOfWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		say := func(s string) { out.WriteString(s) }
		done := progressEvery(time.Second, say, "reading the cluster")
		time.Sleep(time.Second / 2)
		done()
		require.Empty(t, out.String(), "what is quick is not mentioned")

		done = progressEvery(time.Second, say, "reading the cluster")
		time.Sleep(2500 * time.Millisecond)
		done()
		require.Equal(t, "\rreading the cluster … 1s\rreading the cluster … 2s\r\x1b[K", out.String())
	})
}

func TestProgressIsQuietInAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer, err := os.Pipe()
		require.NoError(t, err)
		cmd := &cobra.Command{}
		cmd.SetErr(writer)
		done := progress(cmd, "reading the cluster")
		time.Sleep(time.Minute)
		done()
		require.NoError(t, writer.Close())
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		require.Empty(t, text)
	})
}
