package acllog

import (
	"bufio"
	"errors"
	"io"
)

// MaxLine is the longest line that is read, in bytes; a longer one is skipped. The lines of ovn-controller are much shorter.
const MaxLine = 8 << 10

// Lines reads lines of at most MaxLine bytes, and counts longer ones. Make it with NewLines.
type Lines struct {
	in   *bufio.Reader
	Long int // lines that were skipped because of their length

	skipping bool // the rest of a long line follows
	partial  []byte
}

// NewLines reads lines from r.
func NewLines(r io.Reader) *Lines { return &Lines{in: bufio.NewReaderSize(r, MaxLine)} }

// Next returns the next line without its end; valid until the next call. At the end it returns io.EOF; it may be called
// again when there is more to read. Then a line without an end is continued: see Rest.
func (l *Lines) Next() ([]byte, error) {
	for {
		part, err := l.in.ReadSlice('\n')
		whole := err == nil
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if !l.skipping && len(l.partial)+len(part) > MaxLine {
			l.skipping, l.partial = true, l.partial[:0]
			l.Long++
		}
		switch {
		case l.skipping:
			l.skipping = !whole
		case whole && len(l.partial) == 0:
			return trimmed(part), nil
		default:
			l.partial = append(l.partial, part...)
			if whole {
				line := l.partial
				l.partial = nil
				return trimmed(line), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
	}
}

// Rest returns a last line without an end; empty if there is none. Nothing continues it afterwards.
func (l *Lines) Rest() []byte {
	line := l.partial
	l.partial, l.skipping = nil, false
	return line
}

func trimmed(line []byte) []byte {
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
