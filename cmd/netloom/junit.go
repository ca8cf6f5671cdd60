package main

import (
	"encoding/xml"
	"fmt"
	"io"

	"github.com/netloom/netloom/pkg/object"
)

// junitSuites is a report in the format of JUnit, which every CI reads: https://github.com/testmoapp/junitxml.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

func (s *junitSuite) add(c *junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	s.Cases = append(s.Cases, *c)
}

func writeJUnit(w io.Writer, suites []junitSuite) error {
	all := junitSuites{Name: "netloom", Suites: suites}
	for i := range suites {
		all.Tests += suites[i].Tests
		all.Failures += suites[i].Failures
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// suiteOfProblems converts the problems of manifests to failed cases; without problems there is one passed case.
func suiteOfProblems(path string, problems []object.Problem) junitSuite {
	suite := junitSuite{Name: path}
	if len(problems) == 0 {
		suite.add(&junitCase{Name: "no manifest has a problem", Classname: path})
	}
	for _, p := range problems {
		name := p.Place.Path
		if p.Ref != (object.Ref{}) {
			name = p.Ref.Path()
		}
		if p.Field != "" {
			name += " " + p.Field
		}
		suite.add(&junitCase{
			Name: name, Classname: path, File: p.Place.Path, Line: p.Place.Line,
			Failure: &junitFailure{Message: p.Message, Type: "problem", Text: p.Error()},
		})
	}
	return suite
}
