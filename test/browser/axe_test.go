//go:build axe

package browser

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var axe = flag.String("axe", "", "axe-core's axe.min.js; npm/check has it from npm")

// runAxe checks the page against WCAG 2.0 A and AA, and that names of controls contain what is visible. It returns one line for each
// violation and element, and how many rules passed.
const runAxe = `axe.run(document, {
	runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa']},
	rules: {'label-content-name-mismatch': {enabled: true}},
	preload: false,
	resultTypes: ['violations'],
}).then((r) => JSON.stringify({
	passed: r.passes.length,
	violations: r.violations.flatMap((v) => v.nodes.map((n) => v.id + ' ' + n.target.join(' ') + ': ' + n.failureSummary + ' in ' + n.html.slice(0, 300))),
}))`

// unjudged is a network of another project, which makes answers about its namespace uncertain.
const unjudged = `
apiVersion: k8s.ovn.org/v1
kind: UserDefinedNetwork
metadata: {name: apart, namespace: shop}
spec: {topology: Layer2, layer2: {role: Primary, subnets: [10.100.0.0/16]}}
`

// TestEveryViewIsAccessible runs axe-core in every view, in the light and the dark color scheme.
func TestEveryViewIsAccessible(t *testing.T) {
	program, err := os.ReadFile(*axe)
	require.NoError(t, err)
	d := startDemo(t)
	p := openTab(t, d)
	p.do(chromedp.Evaluate(string(program), nil))
	const why = "why?from=shop/web-0&to=shop/db-0&port=5432"
	for _, view := range []string{
		"map", "map?open=shop", "overview", "matrix", "matrix?from=shop&to=shop", "policies", "policy/shop/db", "targets", "events", "flows", why,
		"what-if?policy=NetworkPolicy/shop/db", "suggest?from=shop/web-0&to=shop/db-0&port=5432", "pod/shop/web-0", "service/shop/web", "search?q=web",
	} {
		p.requireAccessible(view, "")
	}
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "shop", "network.yaml"), []byte(unjudged), 0o600))
	for _, view := range []string{"map", "matrix", why} {
		p.requireAccessible(view, "cannot tell")
	}
}

// requireAccessible opens a view, waits until it has a text, and reports what axe-core finds.
func (p *tab) requireAccessible(view, text string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`document.querySelector('#title').textContent = ''; location.hash = '#/`+view+`'`, nil))
	p.await(`document.querySelector('#title').textContent !== '' && document.querySelector('[data-ready]') !== null && document.querySelector('main').textContent.length > 40`)
	p.awaitText("main", text)
	for _, scheme := range []string{"light", "dark"} {
		p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		var result string
		p.do(chromedp.Evaluate(runAxe, &result, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
		var found struct {
			Passed     int
			Violations []string
		}
		require.NoError(p.t, json.Unmarshal([]byte(result), &found))
		require.Greater(p.t, found.Passed, 10, "it looked at %s", view)
		for _, v := range found.Violations {
			p.t.Errorf("%s, %s: %s", view, scheme, v)
		}
	}
}
