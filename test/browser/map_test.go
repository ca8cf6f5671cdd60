package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
)

// openMap shows the map with some parameters.
func (p *tab) openMap(parameters string) {
	p.t.Helper()
	p.do(chromedp.Evaluate(`location.hash = '#/map`+parameters+`'`, nil))
	p.await(`document.querySelector('#title').textContent === 'Map' && document.querySelector('[data-ready] .area .arrow') !== null`)
}

// focusedKey is the key of the focused element.
const focusedKey = `(document.activeElement.dataset.key ?? document.activeElement.name ?? '')`

func TestTheMapComesFirst(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.do(chromedp.Evaluate(`location.hash = ''`, nil))
	p.await(`document.querySelector('#title').textContent === 'Map' && document.querySelectorAll('.area .node.namespace').length === 3`)
	require.Equal(t, "Map", eval[string](p, `document.querySelector('header nav a[aria-current]').textContent`))
	require.Equal(t, []string{"namespace kube-system"}, eval[[]string](p, `[...document.querySelectorAll('.area .bare')].map((e) => e.dataset.key)`), "what no policy isolates is marked")
	p.shot("map")

	p.click(`.area button[data-key="namespace shop"]`)
	p.await(`document.querySelector('.area .head')?.textContent === 'shop' && ` + focusedKey + ` === 'namespace shop'`)
	require.Equal(t, "true", eval[string](p, `document.activeElement.getAttribute('aria-expanded')`))
	arrow := `[...document.querySelectorAll('.area .arrow')].find((e) => e.querySelector('title').textContent.startsWith('shop/api-0 → shop/db-0: TCP 5432'))`
	require.Contains(t, eval[string](p, arrow+`.querySelector('title').textContent`), "NetworkPolicy/shop/db spec.ingress[0]", "the policy on hover")
	p.do(chromedp.Evaluate(arrow+`.dispatchEvent(new PointerEvent('pointerenter'))`, nil))
	p.awaitText("#detail", "NetworkPolicy/shop/db spec.ingress[0]")
	p.do(chromedp.Evaluate(arrow+`.dispatchEvent(new MouseEvent('click', {bubbles: true}))`, nil), chromedp.WaitVisible(`#answer .card`, chromedp.ByQuery))
	p.awaitText("#answer h2", "shop/api-0 -> shop/db-0 tcp/5432")
}

func TestTheMapIsOperatedByKeys(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.openMap("")
	p.do(chromedp.Focus(`main select[name=show]`, chromedp.ByQuery))
	p.press(kb.Tab, kb.Tab) // the button, then the map, which is one stop
	require.Equal(t, "outside 0.0.0.0/5", eval[string](p, focusedKey))
	require.Equal(t, "solid 3px", eval[string](p, `getComputedStyle(document.activeElement).outlineStyle + ' ' + getComputedStyle(document.activeElement).outlineWidth`))
	p.press(kb.ArrowRight, kb.ArrowRight)
	require.Equal(t, "namespace shop", eval[string](p, focusedKey))
	p.awaitText("#detail", "from monitoring: TCP 9100")
	p.press(kb.Enter)
	p.await(`document.activeElement.className === 'head'`)
	p.press(kb.ArrowDown)
	require.Equal(t, "workload shop/api-0", eval[string](p, focusedKey))
	p.awaitText("#detail", "to shop/db-0: TCP 5432")
	p.press(kb.Tab)
	require.True(t, eval[bool](p, `document.activeElement.closest('#detail') !== null && document.activeElement.hash.startsWith('#/why')`), "the connections of what is focused come next")
	p.do(chromedp.Focus(`.area .head`, chromedp.ByQuery))
	p.press(kb.Enter)
	p.await(`document.querySelector('.area .head') === null && ` + focusedKey + ` === 'namespace shop'`)
}

func TestTheListOfTheMapIsTheDrawing(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.openMap("?open=shop")
	require.Equal(t, eval[int](p, `document.querySelectorAll('.area .arrow').length`), eval[int](p, `document.querySelectorAll('main tbody tr').length`))
	p.openMap("?open=shop&labels=app%3Ddb&port=5432&policed=true")
	p.await(`document.querySelectorAll('main tbody tr').length === 2`)
	require.True(t, eval[bool](p, `[...document.querySelectorAll('main tbody tr')].every((r) => r.textContent.includes('shop/db-0TCP 5432') && r.textContent.includes('NetworkPolicy/shop/db spec.ingress[0]'))`))
	p.do(chromedp.Evaluate(`document.querySelector('main tbody tr a[href^="#/why"]').click()`, nil), chromedp.WaitVisible(`#answer .card`, chromedp.ByQuery))
	p.awaitText("#answer h2", "shop/api-0 -> shop/db-0 tcp/5432")
}

func TestTheMapShowsWhatWasSeenAndTried(t *testing.T) {
	d := startDemo(t, "--acl-log", "ovn-controller.log")
	now := time.Now()
	acllogtest.Append(t, d.log, acllogtest.Line(now.Add(-3*time.Hour), "shop/web ingress[0]", acllog.Allow, "203.0.113.7", "10.244.1.10", 8080)+
		strings.Repeat(acllogtest.Line(now, "shop/db ingress", acllog.Drop, "10.244.1.40", "10.244.2.30", 5432), 3)+
		acllogtest.Line(now, "shop/db ingress[0]", acllog.Allow, "10.244.1.20", "10.244.2.30", 5432))
	p := openTab(t, d)
	p.openMap("?open=shop")
	p.await(`document.querySelectorAll('.arrow.is-tried').length === 1 && document.querySelectorAll('.arrow.is-seen').length === 2`)
	require.Equal(t, "3×", eval[string](p, `document.querySelector('.arrow.is-tried text').textContent`))
	require.Contains(t, eval[string](p, `document.querySelector('.arrow.is-tried title').textContent`), "monitoring → shop/db-0: denied 3 times: tcp/5432\nNetworkPolicy/shop/db default deny")
	require.Less(t, eval[float64](p, `parseFloat(getComputedStyle(document.querySelector('.arrow.is-unseen .line')).strokeWidth)`), 1.0)
	p.awaitText("main", "Suggest a policy for monitoring/prometheus-0")
	p.awaitText(".axis", "3 denied, 2 allowed")
	require.Equal(t, 3, eval[int](p, `document.querySelectorAll('.axis .bar').length`))
	p.shot("map-flows")

	p.do(chromedp.Focus(`.axis input[name=since]`, chromedp.ByQuery))
	p.press(kb.End) // the last part of the time
	p.await(`document.querySelectorAll('.arrow.is-seen').length === 1`)
	require.Equal(t, "since", eval[string](p, focusedKey), "the focus stays")
	p.do(chromedp.Evaluate(`location.hash = '#/map?open=shop&show=denied'`, nil))
	p.await(`document.querySelectorAll('.arrow').length === 1 && document.querySelectorAll('main tbody tr').length === 1`)
	p.awaitText("main tbody tr", "denied 3 times")
	acllogtest.Append(t, d.log, logLine("shop/db ingress", acllog.Drop, "10.244.1.40", "10.244.2.30", 5432))
	p.awaitText("main tbody tr", "denied 4 times")
}

// TestTheMapOfFiftyNamespacesCanBeRead draws namespaces that reach themselves and DNS, a few of them also another one.
func TestTheMapOfFiftyNamespacesCanBeRead(t *testing.T) {
	d := startDemo(t)
	var manifest strings.Builder
	for i := range 50 {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-%02[1]d}\n"+
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: web-0, namespace: team-%02[1]d, labels: {app: web}}\nstatus: {podIP: 10.9.0.%[2]d}\n"+
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: api-0, namespace: team-%02[1]d, labels: {app: api}}\nstatus: {podIP: 10.9.1.%[2]d}\n"+
			"---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: own, namespace: team-%02[1]d}\n"+
			"spec: {podSelector: {}, policyTypes: [Ingress, Egress], ingress: [{from: [{podSelector: {}}]}], egress: [{to: [{podSelector: {}}]}]}\n", i, i+1)
	}
	manifest.WriteString("---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: other, namespace: team-07}\n" +
		"spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}], ports: [{port: 80}]}]}\n")
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "many.yaml"), []byte(manifest.String()), 0o600))
	p := openTab(t, d, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}))
	p.openMap("")
	p.await(`document.querySelector('.area .several') !== null`)
	require.Equal(t, "49 namespaces alike98 pods", eval[string](p, `document.querySelector('.area .several').textContent`))
	require.Equal(t, 7, eval[int](p, `document.querySelectorAll('.area .node').length`))
	p.do(chromedp.Evaluate(`document.querySelector(".map").scrollLeft = 9999`, nil))
	p.shot("map-fifty")
	p.click(`.area .several`)
	p.awaitText("#detail", "to itself: all, within each")
	p.do(chromedp.Evaluate(`[...document.querySelectorAll('#detail button')].find((e) => e.textContent === 'team-00').click()`, nil))
	p.await(`document.querySelector('.area .head')?.textContent === 'team-00' && document.querySelector('.area .several').textContent.startsWith('48')`)
	require.False(t, eval[bool](p, `document.documentElement.scrollWidth > innerWidth`), "the page itself is not wide")

	p.do(chromedp.Evaluate(`location.hash = '#/map?namespace=%3Cimg%20src%3Dx%3E'`, nil))
	p.awaitText("main .fault", "namespace <img src=x> with a pod: not found")
	require.Zero(t, eval[int](p, `document.querySelectorAll('img').length`), "names are text")
	p.forgive("api/v1/connections") // the browser counts an answer of 404 as an error
}

// namesWithoutTheirText lists the elements whose accessible name lacks the text that they show (WCAG 2.2, 2.5.3).
const namesWithoutTheirText = `(() => {
  const plain = (text) => text.toLowerCase().replace(/[^\\p{L}\\p{N}]+/gu, ' ').trim();
  return [...document.querySelectorAll('[aria-label]')].filter((e) => ['A', 'BUTTON', 'TD', 'TH'].includes(e.tagName))
    .filter((e) => !plain(e.getAttribute('aria-label')).includes(plain(e.innerText))).map((e) => e.getAttribute('aria-label') + ' | ' + e.innerText);
})()`

func TestAccessibleNamesHaveTheTextThatIsShown(t *testing.T) {
	p := openTab(t, startDemo(t))
	for _, view := range []string{"map?open=shop", "matrix", "matrix?from=shop&to=shop"} {
		p.do(chromedp.Evaluate(`location.hash = '#/`+view+`'`, nil))
		p.await(`document.querySelector('[data-ready] .area, [data-ready] .grid') !== null && location.hash === '#/` + view + `'`)
		require.Empty(t, eval[[]string](p, namesWithoutTheirText), view)
	}
}
