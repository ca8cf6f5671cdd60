package readme

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestLinks follows the links between the documents of the project: the file is there, and so is the heading.
func TestLinks(t *testing.T) {
	pages := pages(t)
	require.Greater(t, len(pages), 40)
	followed := 0
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, target := range links(string(raw)) {
			followed++
			require.NoError(t, follow(page, target), "%s links to %s", page, target)
		}
	}
	require.Greater(t, followed, 300)
}

// pages lists the documents: those that a reader of the repository finds, and no examples of others or dependencies.
func pages(t *testing.T) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == "testdata" || strings.HasPrefix(e.Name(), ".") && e.Name() != ".github" && path != "../.."):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".md"):
			out = append(out, path)
		}
		return nil
	}))
	return out
}

var (
	fences  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	codes   = regexp.MustCompile("`[^`\n]*`")
	targets = regexp.MustCompile(`\]\(([^()\s]+)\)|(?m)^\[[^\]]+\]:\s+(\S+)$`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	inText  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links lists what a page links to, without code.
func links(page string) []string {
	var out []string
	for _, m := range targets.FindAllStringSubmatch(codes.ReplaceAllString(fences.ReplaceAllString(page, ""), ""), -1) {
		target := m[1] + m[2]
		if !strings.Contains(target, "://") && !strings.HasPrefix(target, "mailto:") {
			out = append(out, target)
		}
	}
	return out
}

// follow checks that the target of a link from a page exists.
func follow(page, target string) error {
	file, anchor, _ := strings.Cut(target, "#")
	at := page
	if file != "" {
		at = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	info, err := os.Stat(at)
	if err != nil || anchor == "" {
		return err
	}
	if info.IsDir() || !strings.HasSuffix(at, ".md") {
		return nil // a line of a file, or a directory
	}
	raw, err := os.ReadFile(at)
	if err != nil {
		return err
	}
	if known := anchors(string(raw)); !slices.Contains(known, anchor) {
		return fmt.Errorf("%s has the headings %s", at, strings.Join(known, ", "))
	}
	return nil
}

// anchors lists the anchors of the headings of a page, as GitHub makes them.
func anchors(page string) []string {
	var out []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		text := inText.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(text))
		if n := seen[slug]; n > 0 {
			out = append(out, fmt.Sprintf("%s-%d", slug, n))
		} else {
			out = append(out, slug)
		}
		seen[slug]++
	}
	return out
}

func TestAnchors(t *testing.T) {
	require.Equal(t, []string{"what-s-new", "a-b", "a-b-1", "with-a-link_"}, anchors("# What-s new\n## A, `B`\n## A b\n```\n# no\n```\n### With [a](x) link_\n"))
	require.Equal(t, []string{"a.md", "b#c"}, links("[x](a.md) `[y](no.md)` [z](https://x) \n```\n[q](no.md)\n```\n[1]: b#c\n"))
}
