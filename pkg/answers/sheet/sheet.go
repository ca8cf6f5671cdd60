package sheet

import (
	"encoding/csv"
	"io"
	"strings"
)

// Writer writes lines of cells as CSV, in which no spreadsheet takes a cell for a formula.
type Writer struct{ csv *csv.Writer }

// New writes to w.
func New(w io.Writer) Writer { return Writer{csv.NewWriter(w)} }

// Line writes a line. Close returns its error.
func (w Writer) Line(cells ...string) {
	for i := range cells {
		cells[i] = harmless(cells[i])
	}
	_ = w.csv.Write(cells) // Close returns it
}

// Close writes what is left, and returns the first error.
func (w Writer) Close() error {
	w.csv.Flush()
	return w.csv.Error()
}

// harmless is a text that no spreadsheet interprets as a formula: see OWASP, CSV Injection.
func harmless(text string) string {
	if strings.ContainsAny(text[:min(1, len(text))], "=+-@\t\r\n") || strings.HasPrefix(text, "＝") || strings.HasPrefix(text, "＋") ||
		strings.HasPrefix(text, "－") || strings.HasPrefix(text, "＠") {
		return "'" + text
	}
	return text
}
