package main

import (
	"net/url"
	"path/filepath"

	"github.com/netloom/netloom/pkg/object"
	"github.com/netloom/netloom/pkg/version"
)

// The metadata of the report.
const (
	sarifSchema  = "https://json.schemastore.org/sarif-2.1.0.json"
	sarifVersion = "2.1.0"
	sarifRule    = "not-understood"
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
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	FullDescription  sarifText `json:"fullDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
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

// sarifOf converts problems.
func sarifOf(problems []object.Problem) *sarifLog {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{
		Name: "netloom", Version: version.Current().Version,
		Rules: []sarifDescriptor{{
			ID:               sarifRule,
			ShortDescription: sarifText{"A manifest has a problem"},
			FullDescription:  sarifText{"A field that cannot be understood allows nothing: traffic of the affected pods may be denied."},
		}},
	}
	for _, p := range problems {
		r := sarifResult{RuleID: sarifRule, Level: "error", Message: sarifText{p.What()}}
		var l sarifLocation
		if p.Ref != (object.Ref{}) {
			l.Logical = []sarifLogical{{p.Ref.Path(), "object"}}
			r.Message.Text = p.Ref.Path() + ": " + r.Message.Text
		}
		if p.Place.Path != "" {
			l.Physical = &sarifPhysical{}
			l.Physical.Artifact.URI = uriOf(p.Place.Path)
			if p.Place.Line > 0 {
				l.Physical.Region = &sarifRegion{p.Place.Line}
			}
		}
		if l.Physical != nil || l.Logical != nil {
			r.Locations = []sarifLocation{l}
		}
		run.Results = append(run.Results, r)
	}
	return &sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{run}}
}

// uriOf is a path as a reference that forges resolve relative to the repository, or as a file URI if it is absolute.
func uriOf(path string) string {
	u := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		u.Scheme = "file"
	}
	return u.String()
}
