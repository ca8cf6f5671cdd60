package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// member is a file of an archive.
type member struct {
	name    string
	content []byte
	mode    int64
}

// archive returns a tar of files, ordered by name, that belong to root and are as old as given.
func archive(files []member, age time.Time) ([]byte, error) {
	files = slices.SortedFunc(slices.Values(files), func(a, b member) int { return strings.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: age, Format: tar.FormatPAX}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zip compresses content without a name and a time.
func zip(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// tree reads the files below a directory, as members below a prefix. It follows links to files, as the chart has some.
func tree(dir, prefix string) ([]member, error) {
	var files []member
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file) //nolint:gosec // a file of the repository
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		files = append(files, member{path.Join(prefix, filepath.ToSlash(name)), content, 0o644})
		return nil
	})
	return files, err
}

// writeArchive writes a compressed archive of files.
func (r *release) writeArchive(name string, files []member) error {
	content, err := archive(files, r.committed)
	if err != nil {
		return err
	}
	if content, err = zip(content); err != nil {
		return err
	}
	return r.save(name, content)
}
