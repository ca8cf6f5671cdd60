package manifest

import (
	"fmt"
	"io"
	"os"
)

// readFile is the content of a file of at most limit bytes. No more than that is ever read: a longer file is an error.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // reading the files of the directory it is given is what it is for
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	tooLong := fmt.Errorf("the file is longer than %d bytes", limit)
	if info, err := f.Stat(); err != nil || info.Size() > limit {
		if err == nil {
			err = tooLong
		}
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1)) // it may grow meanwhile, or have no size to tell
	if err == nil && int64(len(content)) > limit {
		return nil, tooLong
	}
	return content, err
}
