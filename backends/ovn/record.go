package ovn

import (
	"strconv"
	"strings"
)

const (
	// maxGeneration is the largest number that a claim may have, which counting from 1 never reaches.
	maxGeneration = 1 << 62
	maxHolder     = 128
	// noHolder is the holder without a name.
	noHolder = "-"
)

// record is a claim as it is in the database. The zero value is older than every claim.
type record struct {
	generation uint64
	holder     string
}

// String returns the value in the database: what parseRecord reads.
func (r record) String() string { return r.number() + " " + r.holder }

func (r record) number() string { return strconv.FormatUint(r.generation, 10) }

// after reports whether r was claimed after o. Two with the same number by different holders can only exist if the
// database was restored in between, and then the one that is there counts.
func (r record) after(o record) bool {
	return r.generation > o.generation || r.generation == o.generation && r.holder != o.holder
}

// parseRecord parses a claim. It accepts only what String writes.
func parseRecord(text string) (record, bool) {
	number, holder, _ := strings.Cut(text, " ")
	generation, err := strconv.ParseUint(number, 10, 64)
	r := record{generation: generation, holder: holder}
	if err != nil || generation == 0 || generation > maxGeneration || holderText(holder) != holder || r.String() != text {
		return record{}, false
	}
	return r, true
}

// holderText returns the name of a holder as written in a claim: printable ASCII without spaces, never empty. Of a long
// name the end is kept, in which instances differ.
func holderText(name string) string {
	if len(name) > maxHolder {
		name = name[len(name)-maxHolder:]
	}
	if name == "" {
		return noHolder
	}
	b := []byte(name)
	for i, c := range b {
		if c <= ' ' || c > '~' {
			b[i] = '_'
		}
	}
	return string(b)
}

// shortened returns a value written by others, shortened for a log.
func shortened(value string) string {
	if len(value) > maxHolder {
		return value[:maxHolder] + "…"
	}
	return value
}
