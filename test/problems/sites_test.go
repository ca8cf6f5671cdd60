package problems_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// site is a place in a backend that reports what a target cannot express.
type site struct {
	at      string // file:line
	message string // as it is written, with verbs of fmt
}

// pattern matches the message in a text. It is nil for one that has no words of its own, such as "%q: %v".
func (s *site) pattern() *regexp.Regexp {
	verb := regexp.MustCompile(`%[+#]?[a-z]`)
	if !regexp.MustCompile(`[a-zA-Z]{2,} [a-zA-Z]{2,}`).MatchString(verb.ReplaceAllString(s.message, "")) {
		return nil
	}
	parts := verb.Split(s.message, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(strings.ReplaceAll(parts[i], "%%", "%"))
	}
	return regexp.MustCompile(strings.Join(parts, `(?s:.*)`))
}

// A skip is made by a structure with this field, or by functions of this name, whose first text with words is the message.
const (
	reason = "Reason"
	skips  = "skip"
)

// sitesOf finds the places in a package that report.
func sitesOf(t *testing.T, room string) []site {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", room, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, room)
	var out []site
	set := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			message := messageIn(n)
			if message == "" {
				return true
			}
			at := set.Position(n.Pos())
			out = append(out, site{fmt.Sprintf("%s/%s:%d", room, filepath.Base(at.Filename), at.Line), message})
			return false
		})
	}
	return out
}

// messageIn returns the message that a node reports; "" if it does not, or if the message is made elsewhere.
func messageIn(n ast.Node) string {
	switch n := n.(type) {
	case *ast.CallExpr:
		if nameOf(n.Fun) != skips {
			return ""
		}
		for _, arg := range n.Args {
			if s, ok := textOf(arg); ok && strings.Contains(s, " ") {
				return s
			}
		}
	case *ast.KeyValueExpr:
		if nameOf(n.Key) == reason {
			s, _ := textOf(n.Value)
			return s
		}
	}
	return ""
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// textOf returns a text as far as it is a constant: the rest is %v.
func textOf(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		left, some := textOf(e.X)
		right, others := textOf(e.Y)
		if !some {
			left = "%v"
		}
		if !others {
			right = "%v"
		}
		return left + right, e.Op == token.ADD && (some || others)
	case *ast.CallExpr:
		if nameOf(e.Fun) == "Sprintf" && len(e.Args) > 0 {
			return textOf(e.Args[0])
		}
	}
	return "", false
}
