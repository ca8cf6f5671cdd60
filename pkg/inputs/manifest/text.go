package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// The marks with which a file in UTF-16 begins, in either byte order.
const (
	markLittle = "\xff\xfe"
	markBig    = "\xfe\xff"
)

// decodeText returns the content of a file in UTF-8. Files in UTF-16 begin with a byte order mark; any other encoding is an
// error, as its content would not be recognized as documents.
func decodeText(content []byte) ([]byte, error) {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(content, []byte(markLittle)):
		order = binary.LittleEndian
	case bytes.HasPrefix(content, []byte(markBig)):
		order = binary.BigEndian
	case utf8.Valid(content) && bytes.IndexByte(content, 0) < 0:
		return content, nil
	default:
		return nil, errors.New("the file is neither UTF-8 nor UTF-16 with a byte order mark")
	}
	content = content[len(markLittle):]
	if len(content)%2 != 0 {
		return nil, errors.New("the file is UTF-16 and ends within a character")
	}
	units := make([]uint16, len(content)/2)
	for i := range units {
		units[i] = order.Uint16(content[2*i:])
	}
	text := string(utf16.Decode(units))
	if bytes.IndexByte([]byte(text), 0) >= 0 || bytes.ContainsRune([]byte(text), utf8.RuneError) {
		return nil, errors.New("the file begins with a byte order mark of UTF-16, but is not UTF-16")
	}
	return []byte(text), nil
}
