package watchcache

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// bookmarkBeforeEnd is how long before the end of a watch an API server sends the last bookmark, so that its client can resume
// there.
const bookmarkBeforeEnd = 2 * time.Second

// form is the object of a bookmark without its version. An API server sends an empty object of the kind, which for some kinds has
// members beside metadata.
type form struct {
	before, after []byte // the version
	end           int    // in after, where more members of metadata go
}

// newForm returns the form of a bookmark's object.
func newForm(raw []byte) (*form, error) {
	metadata, closing, err := member(json.NewDecoder(bytes.NewReader(raw)), "metadata")
	if err != nil {
		return nil, fmt.Errorf("read a bookmark: %w", err)
	}
	start, end, err := versionSpan(raw)
	if err != nil {
		return nil, fmt.Errorf("read the metadata of a bookmark, at %d: %w", metadata, err)
	}
	raw = bytes.Clone(raw)
	return &form{before: raw[:start], after: raw[end:], end: closing - 1 - end}, nil
}

// object returns the object of a bookmark at a version. more are further members of its metadata, each after a comma.
func (f *form) object(version uint64, more string) []byte {
	return slices.Concat(f.before, []byte(strconv.Quote(strconv.FormatUint(version, 10))), f.after[:f.end], []byte(more), f.after[f.end:])
}

// empty is the form until the upstream has sent a bookmark.
func (r *Resource) empty() *form {
	raw := r.typeMeta() + `"metadata":{"resourceVersion":"0"}` + r.Empty + "}"
	f, err := newForm([]byte(raw))
	if err != nil {
		panic(err) // Resource.Empty is a constant, and wrong
	}
	return f
}
