package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mount is the mounted file system that a directory is on. The zero value means unknown.
type mount struct{ id, device uint64 }

// readDir lists a directory, sorted by name, with the mount that the list is from.
func readDir(path string) ([]os.DirEntry, mount, error) {
	dir, err := os.Open(path) //nolint:gosec // the directory that the user named, or one below it
	if err != nil {
		return nil, mount{}, err
	}
	defer func() { _ = dir.Close() }() // it was only read
	entries, err := dir.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, mountOf(dir), err
}

// remounted reports whether path, or a directory between root and it, is on another mount than before: a volume was mounted or unmounted.
func remounted(root, path string, before, now map[string]mount) bool {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		was, had := before[at]
		is, has := now[at]
		if had && has && was != is {
			return true
		}
		if at == root || at == filepath.Dir(at) {
			return false
		}
	}
}
