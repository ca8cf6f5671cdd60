package web

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/answers/reach"
	"github.com/netloom/netloom/pkg/answers/world"
	"github.com/netloom/netloom/translator"
)

// TestManyClassesAreNotCompared tells more classes apart than two states are compared for.
func TestManyClassesAreNotCompared(t *testing.T) {
	tr := translator.New(translator.Options{})
	b := &board{state: State{State: world.State{Snapshot: tr.Snapshot(), View: tr.View()}}}
	var classes int
	b.ground = func() *ground { return &ground{classes: make([]*reach.Class, classes)} }
	classes = maxComparedClasses
	require.NoError(t, b.comparable())
	classes++
	require.ErrorContains(t, b.comparable(), "10001 classes of pods that policies treat alike are more than the limit of 10000")
}
