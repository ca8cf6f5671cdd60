package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInkIsForTerminals(t *testing.T) {
	require.Equal(t, "\x1b[32mallow\x1b[0m", palette(true).good("allow"))
	require.Equal(t, "allow", palette(false).good("allow"))
	require.False(t, bool(paletteFor(&strings.Builder{})))
	file, err := os.Create(t.TempDir() + "/out")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.False(t, bool(paletteFor(file)))
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to be had: ", err)
	}
	defer func() { require.NoError(t, terminal.Close()) }()
	t.Setenv("NO_COLOR", "")
	require.True(t, bool(paletteFor(terminal)))
	t.Setenv("NO_COLOR", "1")
	require.False(t, bool(paletteFor(terminal)))
}

func TestTablesLineUp(t *testing.T) {
	tab := table{head: []string{"A", "B", "C"}}
	tab.add("… long", "b", "c")
	tab.add("a", "", "")
	require.Equal(t, "  A       B  C\n  … long  b  c\n  a\n", tab.text("  ", false))
}
