package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Report is the result of a comparison.
type Report struct {
	Findings []*Finding `json:"findings"`
	// Opens and Closes count the findings, those beyond the limit of Findings included.
	Opens  int `json:"opens"`
	Closes int `json:"closes"`
	// Pods is the number of pods whose connections were judged at their own port, Classes of ends that differ, and Pairs of
	// classes that were compared.
	Pods    int `json:"pods"`
	Classes int `json:"classes"`
	Pairs   int `json:"pairs"`
	// Unknown lists why connections could not be judged that should have been. If it is not empty, the rows may disagree with
	// the policies in more than Findings.
	Unknown []string `json:"unknown"`
	// UnknownPairs counts the pairs of classes with such connections.
	UnknownPairs int `json:"unknownPairs"`
	// Invalid lists ACLs that OVN refuses and skips.
	Invalid   []string  `json:"invalid,omitempty"`
	NotJudged NotJudged `json:"notJudged"`

	acls map[string]bool // unknown ones that are in Unknown
}

// NotJudged is what is not compared, by design.
type NotJudged struct {
	Pods      []string `json:"pods,omitempty"`      // without an address
	Elsewhere []string `json:"elsewhere,omitempty"` // on nodes that another database serves: only the other end is judged
	// Inside counts pairs of a pod with an EgressFirewall and addresses that may be in the network of the cluster, to which
	// it does not apply.
	Inside int `json:"inside,omitempty"`
	// Names counts pairs for which an EgressFirewall names a destination whose addresses are not known.
	Names int `json:"names,omitempty"`
}

// The limits of a report. The counts are of everything.
const (
	maxFindings = 1000
	maxUnknown  = 100
)

func newReport() *Report {
	return &Report{Findings: []*Finding{}, Unknown: []string{}, acls: map[string]bool{}}
}

// Conclusive reports whether everything was judged that should be: without findings, rows and policies agree.
func (r *Report) Conclusive() bool { return len(r.Unknown) == 0 }

// Agrees reports whether rows and policies agree, without doubt.
func (r *Report) Agrees() bool { return r.Conclusive() && r.Opens+r.Closes == 0 }

// Digest identifies what r found: reports with equal digests have the same findings and doubts.
func (r *Report) Digest() string {
	h := sha256.New()
	for _, f := range r.Findings {
		_, _ = fmt.Fprintln(h, f.Effect, f.From, f.To, f.Traffic, f.Family, f.ACLs, f.Policies)
	}
	_, _ = fmt.Fprintln(h, r.Opens, r.Closes, r.Pods, r.Unknown, r.Invalid)
	return hex.EncodeToString(h.Sum(nil))
}

func (r *Report) unknownACL(why string) {
	if !r.acls[why] {
		r.acls[why] = true
		r.Unknown = append(r.Unknown, why)
	}
}

// finish merges and counts the findings.
func (r *Report) finish(c *comparison) {
	all := c.found.merge(c)
	for _, f := range all {
		if f.Effect == Opens {
			r.Opens++
		} else {
			r.Closes++
		}
	}
	if n := c.found.dropped; n > 0 {
		r.Unknown = append(r.Unknown, fmt.Sprintf("connections of %d further pairs of classes disagree: too many to list", n))
	}
	r.Findings = append(r.Findings, all[:min(len(all), maxFindings)]...)
	slices.Sort(r.Unknown)
	r.Unknown = slices.Compact(r.Unknown)
	if len(r.Unknown) > maxUnknown {
		r.Unknown = r.Unknown[:maxUnknown]
	}
	slices.Sort(r.Invalid)
	slices.Sort(r.NotJudged.Pods)
	slices.Sort(r.NotJudged.Elsewhere)
}
