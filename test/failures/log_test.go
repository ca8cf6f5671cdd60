package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, log, want string }{
		{"a test, and another one that failed because of a subtest", `go test -p 4 ./...
ok  	github.com/netloom/netloom/labelcache	1.1s
--- FAIL: TestA (0.00s)
    a_test.go:3: lost
--- FAIL: TestB (0.00s)
    --- FAIL: TestB/with_1.5_CPUs (0.00s)
        b_test.go:3: lost
FAIL
FAIL	github.com/netloom/netloom/pkg/intent	0.1s
FAIL
`, `TestA of pkg/intent
    go test -run '^TestA$' ./pkg/intent
    x.log:3
    lost
TestB/with_1.5_CPUs of pkg/intent
    go test -run '^TestB$/^with_1\.5_CPUs$' ./pkg/intent
    x.log:6
    lost
`},
		{"the race detector, whose flags stay", `CGO_ENABLED=1 go test -race -short -timeout 20m -skip '^(TestLargePlan)$' ./labelcache/... $(go list ./pkg/... | grep -vE '/pkg/(apis/.*|lint)$')
--- FAIL: TestA (0.00s)
    testing.go:1617: race detected during execution of test
FAIL
FAIL	github.com/netloom/netloom/labelcache	0.1s
`, `TestA of labelcache
    CGO_ENABLED=1 go test -race -short -timeout 20m -run '^TestA$' ./labelcache
    x.log:2
    race detected during execution of test
`},
		{"a nested module, with flags of the test", `go test -C test/e2ekube -tags e2e -count=1 -timeout 20m -parallel 3 . -kubeapi /src/.cache/kubeapi
--- FAIL: TestDrill (9.00s)
FAIL
FAIL	github.com/netloom/netloom/test/e2ekube	0.1s
`, `TestDrill of test/e2ekube
    go test -C test/e2ekube -tags e2e -timeout 20m -parallel 3 -run '^TestDrill$' . -kubeapi /src/.cache/kubeapi
    x.log:2
`},
		{"a package of a nested module", `go test -C test/e2ekube -count=1 ./deployment ./nbwatch
--- FAIL: TestChart (9.00s)
FAIL
FAIL	github.com/netloom/netloom/test/e2ekube/deployment	0.1s
`, `TestChart of test/e2ekube/deployment
    go test -C test/e2ekube -run '^TestChart$' ./deployment
    x.log:2
`},
		{"a package that does not compile", `go test ./...
# github.com/netloom/netloom/pkg/a [github.com/netloom/netloom/pkg/a.test]
pkg/a/a_test.go:3:2: undefined: x
FAIL	github.com/netloom/netloom/pkg/a [build failed]
`, `pkg/a did not run
    go test ./pkg/a
    x.log:4
`},
		{"a test that hangs", `go test -timeout 20m ./...
panic: test timed out after 20m0s
	running tests:
		TestA (20m0s)

goroutine 1 [running]:
FAIL	github.com/netloom/netloom/pkg/a	1200.1s
`, `TestA of pkg/a
    go test -timeout 20m -run '^TestA$' ./pkg/a
    x.log:4
    it did not end
`},
		{"what testify says, with the message in front", "go test ./pkg/a\n--- FAIL: TestA (0.00s)\n    a_test.go:3: \n" +
			"        \tError Trace:\t/src/a_test.go:3\n        \t            \t\t\t\t/src/a_test.go:9\n" +
			"        \tError:      \tNot equal: \n        \t            \texpected: 1\n        \t            \tactual  : 2\n" +
			"        \tTest:       \tTestA\n        \tMessages:   \tone row\n    a_test.go:9: what follows\n" +
			"FAIL\nFAIL\tgithub.com/netloom/netloom/pkg/a\t0.1s\n", `TestA of pkg/a
    go test -run '^TestA$' ./pkg/a
    x.log:2
    one row: Not equal: expected: 1 actual : 2
`},
		{"a panic", "go test ./pkg/a\n--- FAIL: TestA (0.00s)\npanic: lost [recovered, repanicked]\n\ngoroutine 7 [running]:\nFAIL\tgithub.com/netloom/netloom/pkg/a\t0.1s\n", `TestA of pkg/a
    go test -run '^TestA$' ./pkg/a
    x.log:2
    lost [recovered, repanicked]
`},
		{"what is long", "go test ./pkg/a\n--- FAIL: TestA (0.00s)\n    a_test.go:3: " + strings.Repeat("ü", 200) + "\nFAIL\tgithub.com/netloom/netloom/pkg/a\t0.1s\n", `TestA of pkg/a
    go test -run '^TestA$' ./pkg/a
    x.log:2
    ` + strings.Repeat("ü", 160) + `…
`},
		{"nothing that failed", "go test ./...\nok  	github.com/netloom/netloom/pkg/a	1.1s\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, format(read("x.log", tc.log)))
		})
	}
}

func TestManyFailuresFitTheLastScreen(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	for i := range 100 {
		fmt.Fprintf(&log, "--- FAIL: Test%d (0.00s)\n", i)
	}
	log.WriteString("FAIL\tgithub.com/netloom/netloom/pkg/a\t1.1s\n")
	out := format(read("x.log", log.String()))
	require.LessOrEqual(t, strings.Count(out, "\n"), 36)
	require.Contains(t, out, "and 92 more: see the logs\n")
}

func TestWhatIsNoTestShowsTwoLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, "lint.log\n    b\n    make: *** [lint] Error 1\n",
		format([]failure{{log: "lint.log", line: 1, text: telling("a\nb\n\nmake: *** [lint] Error 1\n", 2)}}))
	require.Equal(t, "b.go:1:2: c\nb.go:4:2: c", telling("a\nb.go:1:2: c\n  code\nb.go:4:2: c\nb.go:9:2: c\n\nmake: *** [lint] Error 1\n", 2))
}
