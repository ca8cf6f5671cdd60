package nbtrace

import (
	"fmt"
	"strings"
)

// SyntaxError is a match that OVN would reject, or that this package does not support.
type SyntaxError struct {
	Offset int // in bytes from the start of the match
	Reason string
}

// Error formats e with its position, counted from 1.
func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Offset+1, e.Reason) }

type kind uint8

const (
	tokenEnd      kind = iota
	tokenSymbol        // an operator or bracket
	tokenName          // a field or predicate
	tokenNumber        // an integer, an address or a prefix, unparsed
	tokenString        // text is unquoted
	tokenSet           // $name: text is the name
	tokenGroup         // @name: text is the name
	tokenTemplate      // ^name: text is the name of a variable of the chassis
)

type token struct {
	kind kind
	text string
	at   int
}

// String formats t for an error message.
func (t token) String() string {
	switch t.kind {
	case tokenEnd:
		return "the end"
	case tokenSet:
		return "$" + t.text
	case tokenGroup:
		return "@" + t.text
	case tokenTemplate:
		return "^" + t.text
	case tokenString:
		return fmt.Sprintf("%q", t.text)
	case tokenSymbol, tokenName, tokenNumber:
		return t.text
	default:
		return "?"
	}
}

// symbols lists the symbols in the order in which they are tried: longer ones first.
func symbols() []string {
	return []string{"&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "{", "}", "[", "]", ","}
}

// lex splits a match into tokens; the last one is the end.
func lex(s string) ([]token, error) {
	var tokens []token
	for i := 0; ; {
		for i < len(s) && strings.ContainsRune(" \t\r\n", rune(s[i])) {
			i++
		}
		if i == len(s) {
			return append(tokens, token{tokenEnd, "", i}), nil
		}
		t, n, err := next(s, i)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		i += n
	}
}

// next reads the token at i and returns its length.
func next(s string, i int) (token, int, error) {
	c := s[i]
	switch {
	case c == '"':
		text, n, err := quoted(s, i)
		return token{tokenString, text, i}, n, err
	case c == '$' || c == '@' || c == '^':
		n := span(s[i+1:], isNameByte)
		if n == 0 || isDigit(s[i+1]) {
			return token{}, 0, &SyntaxError{i, fmt.Sprintf("%c wants a name", c)}
		}
		k := map[byte]kind{'$': tokenSet, '@': tokenGroup, '^': tokenTemplate}[c]
		return token{k, s[i+1 : i+1+n], i}, n + 1, nil
	case isNameByte(c) || c == ':':
		return word(s, i), len(word(s, i).text), nil
	}
	for _, sym := range symbols() {
		if strings.HasPrefix(s[i:], sym) {
			return token{tokenSymbol, sym, i}, len(sym), nil
		}
	}
	return token{}, 0, &SyntaxError{i, fmt.Sprintf("unexpected character %q", c)}
}

// word reads a name, or an integer or address with its mask. A word that starts with a digit or contains a colon is not a
// name.
func word(s string, i int) token {
	n := span(s[i:], func(c byte) bool { return isNameByte(c) || c == ':' })
	text := s[i : i+n]
	if !isDigit(text[0]) && !strings.Contains(text, ":") {
		return token{tokenName, text, i}
	}
	if i+n < len(s) && s[i+n] == '/' {
		n += 1 + span(s[i+n+1:], func(c byte) bool { return isNameByte(c) || c == ':' })
	}
	return token{tokenNumber, s[i : i+n], i}
}

// quoted reads a string in double quotes; a backslash takes the next character as it is.
func quoted(s string, i int) (text string, n int, err error) {
	var b strings.Builder
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '"':
			return b.String(), j + 1 - i, nil
		case '\\':
			j++
			if j == len(s) || (s[j] != '"' && s[j] != '\\' && s[j] != '/') {
				return "", 0, &SyntaxError{j - 1, "unknown escape"}
			}
		}
		b.WriteByte(s[j])
	}
	return "", 0, &SyntaxError{i, "string without an end"}
}

func span(s string, is func(byte) bool) int {
	n := 0
	for n < len(s) && is(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '.'
}
