package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgressIsToldOfWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		say := func(s string) { out.WriteString(s) }
		done := tellAfter(time.Second, say, "reading the cluster")
		time.Sleep(time.Second / 2)
		done()
		require.Empty(t, out.String(), "what is quick goes unmentioned")

		done = tellAfter(time.Second, say, "reading the cluster")
		time.Sleep(2500 * time.Millisecond)
		done()
		require.Equal(t, "\rreading the cluster … 1s\rreading the cluster … 2s\r\x1b[K", out.String())
	})
}
