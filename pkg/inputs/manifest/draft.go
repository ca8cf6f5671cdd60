package manifest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/netloom/netloom/pkg/object"
)

const (
	// draftQuiet is how long a file that declares less than before has to stay unchanged before it counts.
	draftQuiet = 500 * time.Millisecond
	// draftLong is how long a file may keep changing before that is a problem.
	draftLong = 10 * time.Second
	// draftWhole is the size in bytes up to which programs write a file in one piece: the smallest common buffer.
	draftWhole = 4096
)

// errDraft is the problem of a file that keeps changing.
var errDraft = errors.New("the file keeps changing: what it declared before stays in force until it has not changed for half a second")

// draft is a version of a file that declares less than the one in force, and may be half written.
type draft struct {
	sum         [sha256.Size]byte
	seen, since time.Time // of this version, and of the first postponed one
}

// drafts are the files whose present version is not in force yet, by path.
type drafts map[string]draft

// postpone reports whether the version in force is kept for now. A version that removes nothing counts at once; any other one
// once it is read a second time after the quiet period.
func (d drafts) postpone(path string, old, is *manifest, now time.Time) bool {
	was, known := d[path]
	switch {
	case old == nil || !is.mayBeCut(old), known && was.sum == is.sum && now.Sub(was.seen) >= draftQuiet:
		delete(d, path)
		return false
	case !known:
		d[path] = draft{is.sum, now, now}
	case was.sum != is.sum:
		d[path] = draft{is.sum, now, was.since}
	}
	return true
}

// mayBeCut reports whether m may be the beginning of a file that is being written: it is shorter than the version before,
// no longer ends with a line break, no longer declares everything, or is written in pieces and ends with another document, which
// may be the beginning of one.
func (m *manifest) mayBeCut(old *manifest) bool {
	if m.size < old.size || old.ended && !m.ended || m.size > draftWhole && m.tail != old.tail {
		return true
	}
	declared := make(map[object.Ref]bool, len(m.entries))
	for _, e := range m.entries {
		declared[e.ref] = true
	}
	for _, e := range old.entries {
		if !declared[e.ref] {
			return true
		}
	}
	return false
}

// tail returns the last document of a file, roughly: all of it if that is not YAML in UTF-8.
func tail(content []byte) []byte {
	return content[max(0, bytes.LastIndex(content, []byte("\n---"))):]
}
