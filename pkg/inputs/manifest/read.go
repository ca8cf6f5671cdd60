package manifest

import (
	"cmp"
	"fmt"
	"io"
	"os"
)

// ReadFile returns the content of a file of at most limit bytes; 0 is DefaultMaxFile. No more than that is ever read: a
// longer file is an error, and so is one that ends before its size, as with an error of a network file system.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the caller names the file to read
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if limit = cmp.Or(limit, DefaultMaxFile); info.Size() > limit {
		return nil, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), limit)
	}
	content, err := Read(f, limit) // it may grow meanwhile, or report no size
	if err == nil && int64(len(content)) < info.Size() {
		return nil, fmt.Errorf("only %d of %d bytes could be read", len(content), info.Size())
	}
	return content, err
}

// Read reads at most limit bytes; 0 is DefaultMaxFile. More of them are an error.
func Read(r io.Reader, limit int64) ([]byte, error) {
	limit = cmp.Or(limit, DefaultMaxFile)
	content, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(content)) > limit {
		return nil, fmt.Errorf("larger than the limit of %d bytes", limit)
	}
	return content, err
}
