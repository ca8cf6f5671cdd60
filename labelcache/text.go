package labelcache

import (
	"strconv"
	"strings"
)

// noMatch is the text of every term that selects nothing.
const noMatch = "none"

// text formats s unambiguously: words of plain characters are bare, all others are quoted, and separators are not plain
// characters.
func (s *spec) text() string {
	var b strings.Builder
	b.WriteString("ns=")
	if s.namespace == "" {
		b.WriteByte('*')
	} else {
		b.WriteString(word(s.namespace))
	}
	if !s.anyLabels {
		b.WriteString(" ns(" + format(s.namespaces) + ")")
	}
	b.WriteString(" pods(" + format(s.pods) + ")")
	if s.cluster != "" {
		b.WriteString(" cluster=" + word(s.cluster))
	}
	if s.opaque {
		b.WriteString(" opaque")
	}
	if s.node != "" {
		b.WriteString(" node=" + word(s.node))
	}
	if s.port.Name != "" {
		b.WriteString(" port=" + strconv.Itoa(int(s.port.Protocol)) + ":" + word(s.port.Name))
		if s.port.Number != 0 {
			b.WriteString(":" + strconv.Itoa(int(s.port.Number)))
		}
	}
	return b.String()
}

// words describes in English what s selects.
func (s *spec) words() string {
	var b strings.Builder
	switch {
	case s.opaque:
		b.WriteString("pods whose labels exceed their budget")
	case len(s.pods) == 0:
		b.WriteString("all pods")
	default:
		b.WriteString("pods " + format(s.pods))
	}
	if s.port.Name != "" {
		b.WriteString(" with " + s.port.Protocol.String() + " port " + s.port.Name)
		if s.port.Number != 0 {
			b.WriteString(" at " + strconv.Itoa(int(s.port.Number)))
		}
	}
	switch {
	case s.namespace != "":
		b.WriteString(" in namespace " + s.namespace)
		if len(s.namespaces) > 0 {
			b.WriteString(" if it is " + format(s.namespaces))
		}
	case len(s.namespaces) > 0:
		b.WriteString(" in namespaces " + format(s.namespaces))
	case len(s.pods) > 0 || s.node == "":
		b.WriteString(" in all namespaces")
	}
	if s.node != "" {
		b.WriteString(" on node " + s.node)
	}
	switch s.cluster {
	case "":
	case AnyCluster:
		b.WriteString(" of any cluster")
	default:
		b.WriteString(" of cluster " + s.cluster)
	}
	return b.String()
}

// format formats clauses in the language of kubectl's --selector.
func format(cs []clause) string {
	var parts []string
	for i := range cs {
		parts = cs[i].format(parts)
	}
	return strings.Join(parts, ",")
}

func (c *clause) format(dst []string) []string {
	key := word(c.key)
	if c.absent {
		return append(dst, "!"+key)
	}
	if c.in != nil {
		return append(dst, key+list("=", " in ", c.in))
	}
	if c.present && c.above == nil && c.below == nil {
		dst = append(dst, key)
	}
	if c.above != nil {
		dst = append(dst, key+">"+strconv.FormatInt(*c.above, 10))
	}
	if c.below != nil {
		dst = append(dst, key+"<"+strconv.FormatInt(*c.below, 10))
	}
	if len(c.notIn) > 0 {
		dst = append(dst, key+list("!=", " notin ", c.notIn))
	}
	return dst
}

func list(one, many string, vals []string) string {
	if len(vals) == 1 {
		return one + word(vals[0])
	}
	words := make([]string, len(vals))
	for i, v := range vals {
		words[i] = word(v)
	}
	return many + "(" + strings.Join(words, ",") + ")"
}

// word returns s, in quotes unless it is made of plain characters.
func word(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./", c) >= 0
	}
	if plain {
		return s
	}
	return strconv.Quote(s)
}
