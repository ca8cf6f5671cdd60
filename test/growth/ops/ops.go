// Package ops sums how often the statements of instrumented packages ran: see test/growth/count.
package ops

// counted are the counters of one file, and how many statements each of them stands for.
type counted struct {
	count []uint32
	stmts []uint16
}

// files is only appended to while the program starts.
var files []counted

// Count adds the counters of a file.
func Count(count []uint32, stmts []uint16) { files = append(files, counted{count, stmts}) }

// Enabled reports whether anything is counted.
func Enabled() bool { return len(files) > 0 }

// Read returns the counters of all files at this moment, for Since.
func Read() [][]uint32 {
	now := make([][]uint32, len(files))
	for i, f := range files {
		now[i] = append([]uint32(nil), f.count...)
	}
	return now
}

// Since returns how many statements ran after before was read.
func Since(before [][]uint32) uint64 {
	var sum uint64
	for i, f := range files {
		for j, c := range f.count {
			sum += uint64(c-before[i][j]) * uint64(f.stmts[j])
		}
	}
	return sum
}
