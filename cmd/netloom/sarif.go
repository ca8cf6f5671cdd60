package main

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/netloom/netloom/pkg/answers/lint"
	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/version"
)

// The metadata of the report.
const (
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
	sarifVersion = "2.1.0"
)

// sarifLog is a report in the format of SARIF 2.1.0, which forges show next to the lines it refers to:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifDriver struct {
	Name    string            `json:"name"`
	Version string            `json:"version"`
	Rules   []sarifDescriptor `json:"rules"`
}

type sarifDescriptor struct {
	ID               string        `json:"id"`
	ShortDescription sarifText     `json:"shortDescription"`
	FullDescription  sarifText     `json:"fullDescription"`
	Help             *sarifText    `json:"help,omitempty"`
	Default          *sarifDefault `json:"defaultConfiguration,omitempty"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
	// Suppressions say that a finding is accepted in the source, and why.
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

// newSarif is a report of some results.
func newSarif(rules []sarifDescriptor, results []sarifResult) *sarifLog {
	run := sarifRun{Results: results}
	run.Tool.Driver = sarifDriver{Name: "netloom", Version: version.Current().Version, Rules: rules}
	return &sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}}
}

// sarifOf converts problems.
func sarifOf(problems []object.Problem) *sarifLog {
	results := []sarifResult{}
	for i := range problems {
		p := &problems[i]
		results = append(results, newSarifResult(lint.NotUnderstood, "error", p.Ref, p.What(), p.Place))
	}
	return newSarif([]sarifDescriptor{{
		ID:               lint.NotUnderstood,
		ShortDescription: sarifText{"A manifest has a problem"},
		FullDescription:  sarifText{"A field that cannot be understood allows nothing: traffic of the affected pods may be denied."},
	}}, results)
}

// newSarifResult is what is said about an object at a place; either may be zero.
func newSarifResult(rule, level string, ref object.Ref, text string, place object.Place) sarifResult {
	r := sarifResult{RuleID: rule, Level: level, Message: sarifText{text}}
	var l sarifLocation
	if ref != (object.Ref{}) {
		l.Logical = []sarifLogical{{ref.Path(), "object"}}
		r.Message.Text = ref.Path() + ": " + r.Message.Text
	}
	if place.Path != "" {
		l.Physical = &sarifPhysical{}
		l.Physical.Artifact.URI = uriOf(place.Path)
		if place.Line > 0 {
			l.Physical.Region = &sarifRegion{place.Line}
		}
	}
	if l.Physical != nil || l.Logical != nil {
		r.Locations = []sarifLocation{l}
	}
	return r
}

// sarifOfLint converts findings. Those that an ignore accepts are suppressed.
func sarifOfLint(findings []lint.Finding) *sarifLog {
	var rules []sarifDescriptor
	for _, r := range lint.Rules() {
		first, _, _ := strings.Cut(r.Doc, ".")
		rules = append(rules, sarifDescriptor{
			ID: r.ID, ShortDescription: sarifText{first}, FullDescription: sarifText{r.Doc}, Help: &sarifText{r.Remedy},
			Default: &sarifDefault{sarifLevel(r.Severity)},
		})
	}
	results := []sarifResult{}
	for i := range findings {
		f := &findings[i]
		r := newSarifResult(f.Rule, sarifLevel(f.Severity), f.Ref, f.Text(), f.Place)
		if f.Ignored != "" {
			r.Suppressions = []sarifSuppression{{"inSource", f.Ignored}}
		}
		results = append(results, r)
	}
	return newSarif(rules, results)
}

// sarifLevel is the name that SARIF has for a severity.
func sarifLevel(s lint.Severity) string {
	if s == lint.Info {
		return "note"
	}
	return s.String()
}

// uriOf is a path as a reference that forges resolve relative to the repository, or as a file URI if it is absolute.
func uriOf(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
