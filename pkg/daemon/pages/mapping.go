package pages

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// mapping is a part of the program's file in memory, from start to before end.
type mapping struct{ start, end uintptr }

// clean parses a file like /proc/self/smaps (proc_pid_smaps(5)) and returns the mappings of the program at path that are the same in
// the file: those that cannot be written and that nothing has written before, such as relocations.
func clean(smaps io.Reader, path string) ([]mapping, error) {
	var all []mapping
	ours := false // the lines are about the last of all
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		if key, found := strings.CutSuffix(fields[0], ":"); found {
			changed := (key == "Anonymous" || key == "Swap") && (len(fields) < 2 || fields[1] != "0")
			if ours && changed {
				all, ours = all[:len(all)-1], false
			}
			continue
		}
		m, err := parse(fields[0])
		if err != nil {
			return nil, err
		}
		ours = len(fields) >= 6 && strings.HasPrefix(fields[1], "r-") && strings.HasSuffix(fields[1], "p") &&
			strings.HasSuffix(lines.Text(), " "+path)
		if ours {
			all = append(all, m)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the mappings of the program: %w", err)
	}
	return all, nil
}

// parse parses a range of addresses, such as 00400000-01c85000.
func parse(text string) (mapping, error) {
	first, last, found := strings.Cut(text, "-")
	start, err := strconv.ParseUint(first, 16, strconv.IntSize)
	if !found || err != nil {
		return mapping{}, fmt.Errorf("mapping %q: expected two hexadecimal addresses", text)
	}
	end, err := strconv.ParseUint(last, 16, strconv.IntSize)
	if err != nil || end < start {
		return mapping{}, fmt.Errorf("mapping %q: expected two hexadecimal addresses", text)
	}
	return mapping{uintptr(start), uintptr(end)}, nil
}
