package acllog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pollInterval is how often a followed file is looked at. Every line of a rotated file is read, as long as it is rotated by
// renaming and not twice within that time.
const pollInterval = 250 * time.Millisecond

// Read calls take for each line of r, until the end. It returns how many lines were too long to be read.
func Read(ctx context.Context, r io.Reader, take func(line []byte)) (long int, err error) {
	lines := NewLines(r)
	for ctx.Err() == nil {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			if rest := lines.Rest(); len(rest) > 0 {
				take(rest)
			}
			return lines.Long, nil
		}
		if err != nil {
			return lines.Long, err
		}
		take(line)
	}
	return lines.Long, ctx.Err()
}

// Follow calls take for each line of a file, and for those that are appended, until ctx ends. If the file is replaced or
// truncated, it continues with the new content; while there is no file, it waits for one. A named pipe is read as long as it exists,
// whoever writes to it. It returns an error only if the file cannot be read.
func Follow(ctx context.Context, path string, take func(line []byte)) error {
	f := &follower{path: path, take: take}
	defer f.close()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if err := f.poll(ctx); err != nil {
			return fmt.Errorf("follow %s: %w", path, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follower is the state of Follow.
type follower struct {
	path  string
	take  func([]byte)
	file  *os.File
	lines *Lines
}

func (f *follower) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
		f.file = nil
	}
}

// poll reads what is new. The old file is read to its end before the new one.
func (f *follower) poll(ctx context.Context) error {
	for {
		if err := f.read(ctx); err != nil {
			return err
		}
		now, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if f.file != nil {
			same, err := f.current(now)
			if err != nil || same {
				return err
			}
			if err := f.read(ctx); err != nil { // what was appended before it was renamed
				return err
			}
			f.rest()
			f.close()
		}
		// Without O_NONBLOCK, a named pipe could not be opened before there is a writer.
		if f.file, err = os.OpenFile(f.path, os.O_RDONLY|syscall.O_NONBLOCK, 0); errors.Is(err, fs.ErrNotExist) {
			f.file = nil
			return nil
		} else if err != nil {
			return err
		}
		f.lines = NewLines(f.file)
	}
}

// current reports whether the open file is still the one at the path, and not shorter than what was read.
func (f *follower) current(now fs.FileInfo) (bool, error) {
	open, err := f.file.Stat()
	if err != nil {
		return false, err
	}
	if isPipe(open) {
		return os.SameFile(open, now), nil
	}
	at, err := f.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return false, err
	}
	return os.SameFile(open, now) && now.Size() >= at, nil
}

func isPipe(info fs.FileInfo) bool { return info.Mode()&fs.ModeNamedPipe != 0 }

// read takes the lines that are there.
func (f *follower) read(ctx context.Context) error {
	if f.file != nil {
		// A pipe whose writer is silent must not be waited for: the context may end. Other files have no deadline.
		_ = f.file.SetReadDeadline(time.Now().Add(pollInterval))
	}
	for f.file != nil && ctx.Err() == nil {
		line, err := f.lines.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		f.take(line)
	}
	return nil
}

// rest takes the last line of a file that ends without a line break.
func (f *follower) rest() {
	if line := f.lines.Rest(); len(line) > 0 {
		f.take(line)
	}
}
