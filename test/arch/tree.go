package arch

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Read returns every Go file of the module at the root of tree, in alphabetical order. Nested modules, testdata and
// hidden directories are skipped.
func Read(tree fs.FS) ([]Source, error) {
	var sources []Source
	err := fs.WalkDir(tree, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if p != "." && foreign(tree, p) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		sources = append(sources, Source{Path: p, Text: text})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the module: %w", err)
	}
	return sources, nil
}

// foreign reports whether the go command skips dir.
func foreign(tree fs.FS, dir string) bool {
	name := path.Base(dir)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return true
	}
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}
