package offline

import (
	"github.com/netloom/netloom/pkg/inputs/manifest"
	"github.com/netloom/netloom/pkg/object"
)

// findLines finds the lines of problems in their files, as far as these can still be read.
func findLines(problems []object.Problem, content map[string][]byte, limit int64) {
	files := map[string]*manifest.Lines{}
	for i := range problems {
		place := &problems[i].Place
		if place.Document == 0 {
			continue
		}
		lines, ok := files[place.Path]
		if !ok {
			text, ok := content[place.Path]
			if !ok {
				text, _ = manifest.ReadFile(place.Path, limit) // deleted in the meantime: then it has no lines
				content[place.Path] = text
			}
			lines = manifest.NewLines(text)
			files[place.Path] = lines
		}
		place.Line = lines.OfProblem(&problems[i])
	}
}

// placeInCluster is the place of what is wrong with an object of a cluster, which has no file: its name says where it is. What belongs to no
// object keeps its place.
func placeInCluster(ref object.Ref, place object.Place) object.Place {
	if ref == (object.Ref{}) {
		return place
	}
	return object.Place{}
}
