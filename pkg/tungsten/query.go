package tungsten

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Query selects the objects of a list and the fields to read. The zero value is every object of a kind, with its UUID and its
// name alone.
type Query struct {
	Fields []string // fields to read; references from other objects and children only if they are listed
	Detail bool     // read all properties and references, besides Fields

	UUIDs    []string // only these objects; those that do not exist are left out
	Names    []string // only objects with these fully qualified names, in one string each; with it, no other selection is possible
	Parents  []string // only children of the objects with these UUIDs
	BackRefs []string // only objects that refer to one of the objects with these UUIDs
	// Filters lists, for a property, the values that it may have. The server ignores a filter on a property that it does not
	// know, and cannot filter by annotations.
	Filters map[string][]string
}

const (
	// pageSize is the number of objects in one answer of a list without a selection.
	pageSize = 1000
	// chunkSize is the number of UUIDs in one request.
	chunkSize = 500
)

// listing is the body of a request for a list.
type listing struct {
	Type         string `json:"type"`
	UUIDs        string `json:"obj_uuids,omitempty"`
	Names        string `json:"-"` // asked for by a GET: in a body, the server ignores it
	Parents      string `json:"parent_id,omitempty"`
	BackRefs     string `json:"back_ref_id,omitempty"`
	Fields       string `json:"fields,omitempty"`
	Filters      string `json:"filters,omitempty"`
	Detail       bool   `json:"detail,omitempty"`
	ExcludeHrefs bool   `json:"exclude_hrefs"`
	PageMarker   string `json:"page_marker,omitempty"`
	PageLimit    int    `json:"page_limit,omitempty"`
}

// listings are the requests that answer q together. One without a selection is to be read by pages.
func (q Query) listings(kind Kind) []listing {
	base := listing{
		Type: string(kind), Fields: strings.Join(q.Fields, ","), Filters: q.filters(), Detail: q.Detail, ExcludeHrefs: true,
	}
	if q.Names != nil {
		return base.byNames(q.Names)
	}
	out := []listing{base}
	for _, selection := range []struct {
		values []string
		of     func(*listing) *string
	}{
		{q.UUIDs, func(l *listing) *string { return &l.UUIDs }},
		{q.Parents, func(l *listing) *string { return &l.Parents }},
		{q.BackRefs, func(l *listing) *string { return &l.BackRefs }},
	} {
		if selection.values == nil {
			continue
		}
		var next []listing
		for part := range slices.Chunk(selection.values, chunkSize) {
			for _, l := range out {
				*selection.of(&l) = strings.Join(part, ",")
				next = append(next, l)
			}
		}
		out = next
	}
	return out
}

// longestNames is how many bytes of names fit into the line of a request, which the server limits to 64 KiB.
const longestNames = 8 << 10

// byNames are the requests for objects with some names.
func (l listing) byNames(names []string) []listing {
	var out []listing
	for _, name := range names {
		if last := len(out) - 1; last >= 0 && len(out[last].Names)+len(name) < longestNames {
			out[last].Names += "," + name
			continue
		}
		l.Names = name
		out = append(out, l)
	}
	return out
}

// query is a request for names as the server reads it: in the address.
func (l listing) query() string {
	q := url.Values{"fq_names": {l.Names}, "exclude_hrefs": {"true"}}
	for name, value := range map[string]string{"fields": l.Fields, "filters": l.Filters} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if l.Detail {
		q.Set("detail", "true")
	}
	return q.Encode()
}

// pages reports whether the server may be asked for q by pages.
func (q Query) pages() bool {
	return q.UUIDs == nil && q.Names == nil && q.Parents == nil && q.BackRefs == nil && len(q.Filters) == 0
}

func (q Query) filters() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(q.Filters)) {
		for _, value := range q.Filters[key] {
			quoted, _ := json.Marshal(value) // a string can always be encoded
			out = append(out, key+"=="+string(quoted))
		}
	}
	return strings.Join(out, ",")
}
