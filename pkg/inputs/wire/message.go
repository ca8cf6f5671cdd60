package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields is a set of the numbers of fields, below 64. Numbers above are in every set: no message here has them yet.
type fields uint64

func only(numbers ...protowire.Number) fields {
	var f fields
	for _, n := range numbers {
		f |= 1 << n
	}
	return f
}

func allBut(numbers ...protowire.Number) fields { return ^only(numbers...) }

func (f fields) has(n protowire.Number) bool { return n >= 64 || f&(1<<n) != 0 }

// message says which fields of a message of protobuf are kept, and which parts of those that are messages themselves.
type message struct {
	keep fields
	into map[protowire.Number]*message
	// rewrite replaces the above: it appends what is kept of src to dst, as append does.
	rewrite func(dst, src []byte) ([]byte, error)
}

// append appends what is kept of src to dst. Both may be of one array, if dst ends before src begins: what is appended is never longer than
// what has been read. It fails if src is no message.
func (m *message) append(dst, src []byte) ([]byte, error) {
	if m.rewrite != nil {
		return m.rewrite(dst, src)
	}
	return eachField(src, dst, func(dst []byte, n protowire.Number, f field) ([]byte, error) {
		if !m.keep.has(n) {
			return dst, nil
		}
		return f.append(dst, m.into[n])
	})
}

// field is a field of a message, with its tag.
type field struct {
	raw   []byte
	tag   int // bytes of the tag
	bytes bool
}

// content is what a field of bytes holds, which may be a message.
func (f field) content() []byte {
	content, _ := protowire.ConsumeBytes(f.raw[f.tag:]) // eachField has read it
	return content
}

// append appends a field to dst, and of its content only what m keeps. A nil m keeps everything.
func (f field) append(dst []byte, m *message) ([]byte, error) {
	if m == nil || !f.bytes {
		return append(dst, f.raw...), nil
	}
	content := f.content()
	width := len(f.raw) - f.tag - len(content) // of the length
	dst = append(dst, f.raw[:f.tag+width]...)
	start := len(dst)
	dst, err := m.append(dst, content)
	if err != nil {
		return nil, err
	}
	size := uint64(len(dst) - start) //nolint:gosec // dst has grown
	if less := width - protowire.SizeVarint(size); less > 0 {
		copy(dst[start-less:], dst[start:])
		dst = dst[:len(dst)-less]
	}
	protowire.AppendVarint(dst[:start-width], size)
	return dst, nil
}

// eachField appends to dst what f appends for each field of src.
func eachField(src, dst []byte, f func(dst []byte, n protowire.Number, f field) ([]byte, error)) ([]byte, error) {
	for len(src) > 0 {
		n, kind, tag := protowire.ConsumeTag(src)
		if tag < 0 {
			return nil, fmt.Errorf("a field of protobuf: %w", protowire.ParseError(tag))
		}
		value := protowire.ConsumeFieldValue(n, kind, src[tag:])
		if value < 0 {
			return nil, fmt.Errorf("field %d of protobuf: %w", n, protowire.ParseError(value))
		}
		var err error
		if dst, err = f(dst, n, field{src[:tag+value], tag, kind == protowire.BytesType}); err != nil {
			return nil, err
		}
		src = src[tag+value:]
	}
	return dst, nil
}
