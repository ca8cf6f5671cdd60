package audit

import (
	_ "embed" // for the template
	"html/template"
	"io"
)

//go:embed report.html
var pageText string

// WriteHTML writes a report as a page that needs no other file. With changes, these come first; nil shows none.
func (r *Report) WriteHTML(w io.Writer, changes *Changes) error {
	page, err := template.New("report").Funcs(template.FuncMap{
		"yes": yes, "access": func(a Access) string { return a.text() }, "traffic": func(c Cell) string { return c.traffic() },
		"directions": func(p Policy) string { return p.directions() },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	return page.Execute(w, struct {
		*Report

		Since *Changes
	}{r, changes})
}
