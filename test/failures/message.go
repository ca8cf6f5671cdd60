package main

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	// reported is a line of t.Error and its like, or of a panic.
	reported = regexp.MustCompile(`^(?:\s+\S+\.go:\d+: *|panic: )(.*)$`)
	// label is a line of one of testify's failures, and continued one that goes on with what such a line says.
	label     = regexp.MustCompile(`^\s+\t(Error|Messages):\s+\t?(.*)$`)
	continued = regexp.MustCompile(`^\s+\t {12}\t(.*)$`)
)

// longestMessage is how many characters of what a test says are shown.
const longestMessage = 160

// messageOf is what a test says after the line that tells that it failed: testify's message and error, or else the first line that it reports.
// Empty if it says nothing.
func messageOf(lines []string) string {
	var first, last, message string
	var fault []string
	for _, line := range lines {
		if failedTest.MatchString(line) || failedRoom.MatchString(line) || strings.HasPrefix(line, "ok  \t") {
			break
		}
		if m := label.FindStringSubmatch(line); m != nil {
			if last = m[1]; last == "Messages" {
				message = m[2] + ": "
				break // of the first failure
			}
			fault = append(fault, m[2])
		} else if m := reported.FindStringSubmatch(line); m != nil {
			if last != "" {
				break // another failure
			}
			if first == "" {
				first = m[1]
			}
		} else if m := continued.FindStringSubmatch(line); m != nil && last == "Error" {
			fault = append(fault, m[1])
		}
	}
	if len(fault) > 0 {
		return short(message + strings.Join(strings.Fields(strings.Join(fault, " ")), " "))
	}
	return short(first)
}

// short is the beginning of a text that is too long for a line.
func short(text string) string {
	if utf8.RuneCountInString(text) <= longestMessage {
		return text
	}
	return string([]rune(text)[:longestMessage]) + "…"
}
