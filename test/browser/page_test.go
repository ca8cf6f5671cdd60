package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// fromWebToDB is the cell of the shop's web tier and its database, which no policy lets meet.
const fromWebToDB = `td[data-key="shop/web-0 → shop/db-0"]`

func TestADeniedCellLeadsToThePolicy(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.shot("namespaces")
	p.click(`td[data-key="shop → shop"]`)
	p.do(chromedp.WaitVisible(fromWebToDB, chromedp.ByQuery))
	p.shot("classes")
	p.await(`document.querySelector('` + fromWebToDB + `').innerText.trim() === '✗ denied'`)
	p.click(fromWebToDB)
	p.do(chromedp.WaitVisible(`#answer .card`, chromedp.ByQuery))
	p.shot("why")
	p.awaitText(`#answer h2`, "shop/web-0 -> shop/db-0 tcp/5432")
	p.awaitText("#answer", "NetworkPolicy/shop/db spec.ingress[0] allows pods app=api in namespace shop, but shop/web-0 does not match")
	p.awaitText("#answer", "To allow it")

	p.click(`#answer a[href="#/policy/shop/db"]`)
	p.await(`document.querySelector('#title').textContent === 'NetworkPolicy shop/db' && document.body.textContent.includes('Port_Group')`)
	for _, want := range []string{"pods app=db in namespace shop", "spec.ingress[0]", "tcp/5432", "in sync", "to-lport 2002 allow-related"} {
		p.awaitText("main", want)
	}
	p.shot("policy")
	p.click(`a[href="#/targets"]`)
	p.await(`document.querySelector('#title').textContent === 'Targets' && document.querySelector('.card') !== null`)
	p.awaitText("main", "transaction")
	p.shot("targets")
}

func TestTheKeyboardIsEnough(t *testing.T) {
	p := openTab(t, startDemo(t))
	focused := func() string {
		return eval[string](p, `(() => { const e = document.activeElement; return e.dataset.key ?? e.getAttribute('href') ?? e.name ?? e.id })()`)
	}
	visible := func() {
		t.Helper()
		style := eval[string](p, `getComputedStyle(document.activeElement).outlineStyle + ' ' + getComputedStyle(document.activeElement).outlineWidth`)
		require.Equal(t, "solid 3px", style, "the focus is visible: %s", focused())
	}
	p.press(kb.Tab)
	require.Equal(t, "#main", focused(), "the first stop skips the head")
	visible()
	p.press(kb.Enter)
	p.await(`document.activeElement.id === 'main'`)
	for _, want := range []string{"fromLabels", "toLabels", "port", "sort", "only"} {
		p.press(kb.Tab)
		require.Equal(t, want, focused())
	}
	p.press(kb.Tab, kb.Tab) // the button, then the matrix, which is one stop
	require.Equal(t, "kube-system → kube-system", focused())
	visible()
	p.press(kb.ArrowDown, kb.ArrowRight, kb.ArrowDown, kb.ArrowRight)
	require.Equal(t, "shop → shop", focused())
	p.press(kb.ArrowLeft, kb.ArrowLeft, kb.ArrowLeft, kb.ArrowLeft)
	require.Equal(t, "from shop", focused(), "heads can be reached, and there it ends")
	p.press(kb.End)
	require.Equal(t, "shop → (outside)", focused())
	p.press(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.Enter)
	p.do(chromedp.WaitVisible(fromWebToDB, chromedp.ByQuery))
	p.await(`document.activeElement.closest('.grid') !== null`)
	for range 10 { // wherever the focus was put, the last row is that of the web tier
		p.press(kb.ArrowDown)
	}
	p.press(kb.Home, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight)
	require.Equal(t, "shop/web-0 → shop/db-0", focused())
	require.Equal(t, "from web to db: denied. Enter asks why", eval[string](p, `document.activeElement.getAttribute('aria-label')`))
	visible()
	p.press(kb.Enter)
	p.do(chromedp.WaitVisible(`#answer .card`, chromedp.ByQuery))
	for range 40 {
		if focused() == "#/policy/shop/db" {
			break
		}
		p.press(kb.Tab)
	}
	require.Equal(t, "#/policy/shop/db", focused())
	visible()
	p.press(kb.Enter)
	p.await(`document.querySelector('#title').textContent === 'NetworkPolicy shop/db'`)
	require.Equal(t, "title", eval[string](p, `document.activeElement.id`), "a new view is read from its title")
}

func TestTheWhyFormAsksForServices(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.click(`a[href="#/why"]`)
	p.do(chromedp.WaitVisible(`input[name=from]`, chromedp.ByQuery))
	p.do(chromedp.SendKeys(`input[name=from]`, "shop/web-0", chromedp.ByQuery))
	p.await(`document.querySelector('#names-from option[value="shop/web-0"]') !== null`)
	p.do(chromedp.SendKeys(`input[name=to]`, "svc/shop/web"+kb.Enter, chromedp.ByQuery))
	p.await(`document.querySelector('#answer').textContent.length > 0`)
	p.awaitText("#answer", "shop/web")
	p.do(chromedp.SetValue(`input[name=from]`, "shop/wbe-0", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector('main form').requestSubmit()`, nil))
	p.await(`document.querySelector('#answer .fault') !== null`)
	p.awaitText(`#answer .fault`, "did you mean")
	p.forgive("api/v1/why") // the browser counts an answer of 404 as an error
}

func TestTheMatrixCanBeFiltered(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.do(chromedp.SendKeys(`input[name=toLabels]`, "app=db", chromedp.ByQuery), chromedp.SendKeys(`input[name=port]`, "5432"+kb.Enter, chromedp.ByQuery))
	p.await(`document.querySelectorAll('.grid thead th').length === 2`)
	require.Equal(t, []string{"denied", "denied", "partly", "denied"},
		eval[[]string](p, `[...document.querySelectorAll('.grid td')].map((e) => e.dataset.verdict)`))
	p.click(`td[data-key="shop → shop"]`)
	p.await(`document.querySelector('td[data-key="shop → shop"]') === null && document.querySelectorAll('.grid tbody tr').length === 4`)
	require.Equal(t, []string{"allowed", "allowed", "itself", "denied"},
		eval[[]string](p, `[...document.querySelectorAll('.grid td')].map((e) => e.dataset.verdict)`))
}

func TestAWideMatrixKeepsItsHeadsInSight(t *testing.T) {
	d := startDemo(t)
	var manifest strings.Builder
	for i := range 40 {
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: ns%02[1]d, labels: {app: one}}\n"+
			"status: {podIP: 10.9.0.%[1]d}\n", i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "many.yaml"), []byte(manifest.String()), 0o600))
	p := openTab(t, d)
	p.await(`document.querySelectorAll('.grid tbody tr').length === 44`)
	require.True(t, eval[bool](p, `document.querySelector('.scroll').scrollWidth > document.querySelector('.scroll').clientWidth + 500`))
	require.Greater(t, eval[float64](p, `document.querySelector('.grid tbody th').getBoundingClientRect().width`), 100.0)
	require.False(t, eval[bool](p, `document.documentElement.scrollWidth > innerWidth`), "the page itself is not wide")
	p.do(chromedp.Focus(`td[data-key="monitoring → monitoring"]`, chromedp.ByQuery))
	p.press(kb.PageDown, kb.PageDown, kb.End)
	require.True(t, eval[bool](p, `(() => {
		const inside = (e) => { const a = e.getBoundingClientRect(), b = document.querySelector('.scroll').getBoundingClientRect(); return a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1; };
		const cell = document.activeElement, row = cell.parentElement;
		return cell.dataset.key === 'ns19 → (outside)' && inside(cell) && inside(row.firstElementChild) && inside(document.querySelector('.grid thead th:last-child'));
	})()`), "the cell and both its heads are visible")
}

func TestThePageFollowsChanges(t *testing.T) {
	d := startDemo(t)
	p := openTab(t, d)
	p.do(chromedp.Evaluate(`window.same = true; location.hash = '#/matrix?from=shop&to=shop'`, nil), chromedp.WaitVisible(fromWebToDB, chromedp.ByQuery))
	p.await(`document.querySelector('#live').textContent === 'live'`)
	d.edit(t, "shop/policies.yaml", "  - from: [{podSelector: {matchLabels: {app: api}}}]\n    ports: [{port: 5432}]",
		"  - from: [{podSelector: {}}]\n    ports: [{port: 5432}]")
	d.edit(t, "shop/policies.yaml", "  - to: [{podSelector: {matchLabels: {app: api}}}]\n    ports: [{port: api}]",
		"  - to: [{podSelector: {}}]\n    ports: [{port: 5432}]")
	p.await(`document.querySelector('` + fromWebToDB + `')?.dataset.verdict === 'partly'`)
	p.awaitText(fromWebToDB, "tcp/5432")
	d.edit(t, "shop/policies.yaml", "port: 5432", "port: 99999")
	p.await(`document.querySelector('#glance').textContent.includes('1 problem')`)
	p.click(`a[href="#/events"]`)
	p.await(`document.querySelector('main').textContent.includes('99999')`)
	require.True(t, eval[bool](p, `window.same`), "the page was not loaded again")
}

func TestLightAndDarkCanBeRead(t *testing.T) {
	d := startDemo(t)
	grounds := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		p := openTab(t, d, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		grounds[scheme] = eval[string](p, `getComputedStyle(document.body).backgroundColor`)
		for _, view := range []string{"map", "map?open=shop", "overview", "matrix", "matrix?from=shop&to=shop", "why?from=shop/web-0&to=shop/db-0&port=5432", "policy/shop/db", "targets", "policies", "flows", "what-if?policy=NetworkPolicy/shop/db", "suggest?from=shop/web-0&to=shop/db-0&port=5432", "pod/shop/web-0", "service/shop/web", "search?q=web"} {
			p.do(chromedp.Evaluate(`location.hash = '#/`+view+`'`, nil))
			p.await(`document.querySelector('[data-ready]') !== null && document.querySelector('main').textContent.length > 40`)
			require.Empty(t, eval[[]string](p, tooFaint), "%s, %s", view, scheme)
		}
		if scheme == "dark" {
			p.do(chromedp.Evaluate(`location.hash = '#/matrix?from=shop&to=shop'`, nil), chromedp.WaitVisible(fromWebToDB, chromedp.ByQuery))
			p.shot("dark")
		}
	}
	require.NotEqual(t, grounds["light"], grounds["dark"])
}

// tooFaint lists the texts whose contrast is less than 4.5 to 1 (WCAG 2.2, 1.4.3).
const tooFaint = `(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (e) => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const out = [];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility() || e.tagName === 'NOSCRIPT') continue;
    const a = light(channels(getComputedStyle(e).color).slice(0, 3)), b = light(behind(e).slice(0, 3));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) out.push(e.tagName + '.' + e.className + ' ' + ratio.toFixed(2) + ': ' + e.textContent.slice(0, 40));
  }
  return out;
})()`

// axTree is what is read of the answer to Accessibility.getFullAXTree. Browsers newer than the library say more than it
// knows.
type axTree struct {
	Nodes []struct {
		Role axValue `json:"role"`
		Name axValue `json:"name"`
	} `json:"nodes"`
}

type axValue struct {
	Value string `json:"value"`
}

func TestScreenReadersGetNamesAndRoles(t *testing.T) {
	p := openTab(t, startDemo(t))
	for _, view := range []string{"map", "map?open=shop", "overview", "matrix", "matrix?from=shop&to=shop", "why?from=shop/web-0&to=shop/db-0&port=5432", "policy/shop/db", "targets", "policies", "events", "flows", "what-if?policy=NetworkPolicy/shop/db", "suggest?from=shop/web-0&to=shop/db-0&port=5432", "pod/shop/web-0", "service/shop/web", "search?q=web"} {
		p.do(chromedp.Evaluate(`location.hash = '#/`+view+`'`, nil))
		p.await(`document.querySelector('[data-ready]') !== null && document.querySelector('main').textContent.length > 40`)
		var tree axTree
		p.do(chromedp.ActionFunc(func(ctx context.Context) error {
			return cdp.Execute(ctx, accessibility.CommandGetFullAXTree, nil, &tree)
		}))
		named := map[string]int{}
		for _, n := range tree.Nodes {
			role := n.Role.Value
			switch role {
			case "link", "button", "textbox", "combobox", "gridcell", "columnheader", "rowheader", "grid", "navigation", "search", "region":
				require.NotEmpty(t, n.Name.Value, "%s: a %s has a name", view, role)
				named[role]++
			}
		}
		require.Positive(t, named["link"])
		require.Equal(t, 1, eval[int](p, `document.querySelectorAll('h1').length`))
		require.Equal(t, "en", eval[string](p, `document.documentElement.lang`))
	}
}
