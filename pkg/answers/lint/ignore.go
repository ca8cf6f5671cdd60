package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netloom/netloom/pkg/object"
)

// IgnoreAnnotation accepts findings about the whole object that has it: a line "RULE REASON" for each rule.
const IgnoreAnnotation = "netloom.io/lint-ignore"

// IgnoreComment is what the text of a comment that accepts findings begins with, followed by "RULE REASON".
const IgnoreComment = "netloom:ignore"

// maxIgnores is how many ignores one object or one file may have.
const maxIgnores = 1000

// Ignore accepts the findings of one rule. It applies to an object, or to some lines of a document.
type Ignore struct {
	Rule, Reason string
	Ref          object.Ref   // zero for lines of a document
	Place        object.Place // where the ignore itself is
	First, Last  int          // the lines it applies to, if Ref is zero

	used bool
}

// covers reports whether an ignore applies to a finding. Errors cannot be ignored.
func (g *Ignore) covers(f *Finding) bool {
	if g.Rule != f.Rule || f.Severity == Error {
		return false
	}
	if g.Ref != (object.Ref{}) {
		return g.Ref == f.Ref
	}
	return f.Place.Path == g.Place.Path && f.Place.Document == g.Place.Document && g.First <= f.Place.Line && f.Place.Line <= g.Last
}

// IgnoresOf reads the annotation of an object that is declared at a place. What is wrong with it is among the findings.
func IgnoresOf(ref object.Ref, annotations map[string]string, place object.Place) ([]Ignore, []Finding) {
	var out []Ignore
	var faults []Finding
	for line := range strings.Lines(annotations[IgnoreAnnotation]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		g := Ignore{Ref: ref, Place: place}
		fault := g.read(line)
		if fault == nil && len(out) == maxIgnores {
			fault = fmt.Errorf("more than %d ignores: the others are not applied", maxIgnores)
		}
		if fault != nil {
			f := newFinding(InvalidIgnore, ref, annotationField, fault.Error())
			f.Place = place
			if faults = append(faults, f); len(out) == maxIgnores {
				break
			}
			continue
		}
		out = append(out, g)
	}
	return out, faults
}

// annotationField is the path of the annotation in an object.
const annotationField = "metadata.annotations"

// Comment is a comment in a file that begins with IgnoreComment.
type Comment struct {
	Text        string       // what follows IgnoreComment
	Place       object.Place // its line
	First, Last int          // the lines it applies to
}

// IgnoresIn reads the comments of one file. What is wrong with them is among the findings.
func IgnoresIn(comments []Comment) ([]Ignore, []Finding) {
	var out []Ignore
	var faults []Finding
	for i := range comments {
		c := &comments[i]
		g := Ignore{Place: c.Place, First: c.First, Last: c.Last}
		fault := g.read(c.Text)
		if i == maxIgnores {
			fault = fmt.Errorf("more than %d ignores in one file: this and the following ones are not applied", maxIgnores)
		}
		if fault != nil {
			f := newFinding(InvalidIgnore, object.Ref{}, "", fault.Error())
			f.Place = c.Place
			faults = append(faults, f)
		} else {
			out = append(out, g)
		}
		if i == maxIgnores {
			break
		}
	}
	return out, faults
}

// read reads "RULE REASON".
func (g *Ignore) read(text string) error {
	rule, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	if g.Rule, g.Reason = rule, strings.TrimSpace(reason); rule == "" {
		return fmt.Errorf("expected a rule and a reason: %s RULE REASON", IgnoreComment)
	}
	if g.Reason == "" {
		return fmt.Errorf("%s: expected a reason after the rule", rule)
	}
	return nil
}

// Accept marks the findings that ignores apply to. Ignores that apply to none stay unused, see Unused.
func Accept(found []Finding, ignores []Ignore) []Finding {
	byObject, byPath := map[object.Ref][]*Ignore{}, map[string][]*Ignore{}
	for i := range ignores {
		if g := &ignores[i]; g.Ref != (object.Ref{}) {
			byObject[g.Ref] = append(byObject[g.Ref], g)
		} else {
			byPath[g.Place.Path] = append(byPath[g.Place.Path], g)
		}
	}
	for i := range found {
		f := &found[i]
		for _, list := range [][]*Ignore{byObject[f.Ref], byPath[f.Place.Path]} {
			for _, g := range list {
				if g.covers(f) {
					f.Ignored, g.used = g.Reason, true
				}
			}
		}
	}
	return found
}

// Unused are the findings about ignores that applied to nothing. Rules that were not looked for are not unused.
func Unused(ignores []Ignore, skipped []string) []Finding {
	var out []Finding
	for i := range ignores {
		g := &ignores[i]
		if g.used || slices.Contains(skipped, g.Rule) {
			continue
		}
		field, what := "", g.Rule+": no such finding here"
		if g.Ref != (object.Ref{}) {
			field = annotationField
		}
		if _, known := ruleOf(g.Rule); !known {
			what = fmt.Sprintf("%s: unknown rule%s", g.Rule, nearest(g.Rule, IDs()))
		}
		f := newFinding(UnusedIgnore, g.Ref, field, what)
		f.Place = g.Place
		out = append(out, f)
	}
	return out
}

// IDs lists the IDs of all rules.
func IDs() []string {
	var out []string
	for _, r := range Rules() {
		out = append(out, r.ID)
	}
	return out
}
