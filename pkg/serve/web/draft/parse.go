package draft

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
)

// MaxText is how long a text may be, in bytes.
const MaxText = 256 << 10

// MaxPolicies is how many policies a text may have.
const MaxPolicies = 50

// MaxProblems is how many problems of a text are named.
const MaxProblems = 100

// name is the path of a text in the places of its problems.
const name = "edited.yaml"

// meanwhile starts the part of a message that says what applies until a file is fixed. It is cut off: a draft is never applied.
const meanwhile = "; until it is fixed"

// Parse reads a text with policies. A policy that cannot be read is a problem and is left out, and so is an object of another
// kind. Every problem has its line, as far as there is one.
func Parse(text []byte) Edit {
	out := Edit{text: text, places: map[object.Ref]object.Place{}}
	if len(text) > MaxText {
		out.Problems = []object.Problem{{Message: fmt.Sprintf("the text is longer than %d bytes", MaxText)}}
		return out
	}
	log := logrus.New()
	log.SetOutput(io.Discard) // everything it would say is a problem of the text
	source := manifest.Load(name, text, manifest.Options{}, log)
	out.Problems = slices.Clone(source.Problems())
	faulty := map[object.Ref]bool{}
	for i := range out.Problems {
		p := &out.Problems[i]
		p.Message, _, _ = strings.Cut(p.Message, meanwhile)
		faulty[p.Ref] = true
	}
	for _, ref := range source.Refs() {
		place, declared := source.Place(ref)
		o, ok := source.Get(ref)
		if !declared || !ok || faulty[ref] {
			continue // a namespace that the text does not declare, or a policy that cannot be read
		}
		if _, isPolicy := RefOf(o); !isPolicy {
			out.Problems = append(out.Problems, object.Problem{Ref: ref, Place: place, Message: "only policies can be edited here"})
			continue
		}
		out.Put, out.places[ref] = append(out.Put, o), place
	}
	for _, kind := range slices.Sorted(maps.Keys(source.Ignored())) {
		out.Problems = append(out.Problems, object.Problem{Message: "only policies can be edited here, not a " + kind})
	}
	if len(out.Put) > MaxPolicies {
		out.Put = nil
		out.Problems = append(out.Problems, object.Problem{Message: fmt.Sprintf("the text has more than %d policies", MaxPolicies)})
	}
	out.Problems = shortened(out.Problems)
	locate(out.Problems, text)
	return out
}

// shortened are the first problems of a text, ordered by their place: an object may have as many as the text has lines.
func shortened(problems []object.Problem) []object.Problem {
	slices.SortFunc(problems, object.Problem.Compare)
	if len(problems) <= MaxProblems {
		return problems
	}
	return append(problems[:MaxProblems], object.Problem{Message: fmt.Sprintf("only the first %d problems are shown", MaxProblems)})
}

// locate gives problems the lines of a text that they are about. Those of a document follow each other, so that it is parsed once.
func locate(problems []object.Problem, text []byte) {
	lines := manifest.NewLines(text)
	for i := range problems {
		if p := &problems[i]; p.Place.Document > 0 && p.Place.Line == 0 {
			p.Place.Line = lines.OfProblem(p)
		}
	}
}
