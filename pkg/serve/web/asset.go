package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"

	"github.com/netloom/netloom/pkg/serve/httpbody"
)

//go:embed static
var static embed.FS

// asset is a file of the page.
type asset struct {
	kind           string // its media type
	tag            string
	plain, smaller []byte // as it is, and compressed
}

// typeOf returns the media type of a file; the table of the machine may differ or lack it.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return "application/octet-stream"
	}
}

// loadAssets reads the embedded files, by the paths that they are served at.
func loadAssets() map[string]*asset {
	out := map[string]*asset{}
	files, err := static.ReadDir("static")
	if err != nil {
		panic("web: what is embedded cannot be read: " + err.Error())
	}
	for _, f := range files {
		content, err := static.ReadFile(path.Join("static", f.Name()))
		if err != nil {
			panic("web: what is embedded cannot be read: " + err.Error())
		}
		sum := sha256.Sum256(content)
		a := &asset{kind: typeOf(f.Name()), tag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: content, smaller: zipped(content)}
		if f.Name() == "index.html" {
			out["/{$}"] = a
			continue
		}
		out["/"+f.Name()] = a
	}
	return out
}

// ServeHTTP sends the file, unless the client already has it.
func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("ETag", a.tag)
	header.Set("Cache-Control", "no-cache") // cache it, but revalidate it
	header.Set("Vary", "Accept-Encoding")
	if matches(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", a.kind)
	content := a.plain
	if httpbody.AcceptsGzip(r) && len(a.plain) >= minZipped {
		header.Set("Content-Encoding", "gzip")
		content = a.smaller
	}
	_, _ = w.Write(content)
}
