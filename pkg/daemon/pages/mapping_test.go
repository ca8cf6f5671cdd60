package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// smaps is cut from the file of a program with relocations, which are read-only once they are written.
const smaps = `00400000-01c85000 r-xp 00000000 fe:00 10455519                           /opt/net loom
Size:              25108 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me sd
01c85000-03647000 r--p 01885000 fe:00 10455519                           /opt/net loom
Anonymous:             0 kB
Swap:                  0 kB
03647000-03740000 rw-p 03247000 fe:00 10455519                           /opt/net loom
Anonymous:             0 kB
03740000-03750000 r--p 03247000 fe:00 10455519                           /opt/net loom
Anonymous:             4 kB
Swap:                  0 kB
03750000-03760000 r--p 03247000 fe:00 10455519                           /opt/net loom
Anonymous:             0 kB
Swap:                  4 kB
03760000-03770000 r--s 03247000 fe:00 10455519                           /opt/net loom
03770000-03780000 r-xp 00000000 fe:00 10455520                           /lib/x.so
3aceb6800000-3aceb8400000 rw-p 00000000 00:00 0
Anonymous:          9999 kB
7ffda89a0000-7ffda89c1000 rw-p 00000000 00:00 0                          [stack]
`

func TestOnlyWhatIsAsInTheFileIsClean(t *testing.T) {
	got, err := clean(strings.NewReader(smaps), "/opt/net loom")
	require.NoError(t, err)
	require.Equal(t, []mapping{{0x400000, 0x1c85000}, {0x1c85000, 0x3647000}}, got)
}

func TestMappingsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"x", "1-", "1-x", "-1", "2-1", "11111111111111111-22222222222222222"} {
		_, err := clean(strings.NewReader(text+" r-xp 00000000 fe:00 1 /netloom\n"), "/netloom")
		require.EqualError(t, err, `mapping "`+text+`": expected two hexadecimal addresses`)
	}
}
