package arch_test

import (
	"testing"

	"github.com/netloom/netloom/test/arch"
)

func TestNothingIsLeftToLuck(t *testing.T) {
	const poll, pause, seed = "wait with test/await", "a pause proves nothing", "has no seed"
	for _, tc := range []struct{ name, imports, body, want string }{
		{"a poll", "", "func f() { require.Eventually(t, nil, 1, 1) }", poll},
		{"a negative one", "", "func f() { assert.Never(t, nil, 1, 1) }", poll},
		{"a pause", `import "time"`, "func f() { time.Sleep(1) }", pause},
		{"a pause under another name", `import clock "time"`, "func f() { clock.Sleep(1) }", pause},
		{"a pause for something else than a verdict", `import "time"`, "func f() { time.Sleep(1) // pause: for measuring\n}", ""},
		{"a pause with another comment", `import "time"`, "func f() { time.Sleep(1) // long enough\n}", pause},
		{"a timer", `import "time"`, "func f() { <-time.After(1) }", pause},
		{"a timer for something else than a verdict", `import "time"`, "func f() { <-time.After(1) // pause: between two looks\n}", ""},
		{"a pause in a bubble", `import "time"; import "testing/synctest"`, "func f() { time.Sleep(1) }", ""},
		{"another use of the clock", `import "time"`, "func f() { time.Now() }", ""},
		{"chance", `import "math/rand/v2"`, "func f() { rand.IntN(7) }", seed},
		{"old chance", `import "math/rand"`, "func f() { rand.Intn(7) }", seed},
		{"chance with a seed", `import "math/rand/v2"`, "func f() { rand.New(rand.NewPCG(1, 2)).IntN(7) }", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := []byte("package version\n\n" + tc.imports + "\n\n" + tc.body + "\n")
			requireFault(t, tc.want, arch.Source{Path: "pkg/version/version_test.go", Text: text})
			documented := append([]byte("// Package version is an example.\n"), text...)
			if tc.want != poll && tc.want != seed && tc.imports != `import "time"; import "testing/synctest"` {
				requireFault(t, "", arch.Source{Path: "pkg/version/version.go", Text: documented})
			}
		})
	}
}
