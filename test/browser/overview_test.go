package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

func TestTheOverviewShowsWhatIsNotProtected(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.do(chromedp.Evaluate(`location.hash = '#/overview'`, nil))
	p.await(`document.querySelector('#title').textContent === 'Overview' && document.querySelectorAll('main table').length === 3`)
	p.await(`document.querySelector('main').textContent.includes('in sync')`)
	p.shot("overview")
	p.awaitText("main", "1 namespace that no NetworkPolicy isolates")
	require.Equal(t, "kube-system", eval[string](p, `document.querySelectorAll('main table')[1].querySelector('tbody th').textContent`), "what nothing protects comes first")
	require.Empty(t, eval[string](p, `[...document.querySelectorAll('main .verdict')].filter((e) => e.textContent.includes('none') && e.classList.contains('allow')).map((e) => e.textContent).join()`))
	p.awaitText("#glance", "1 target in sync")
	require.Equal(t, "manifests", eval[string](p, `document.querySelectorAll('main table')[2].querySelector('tbody th').textContent`), "what was confirmed")
}

func TestTheMatrixCountsSortsAndOmits(t *testing.T) {
	p := openTab(t, startDemo(t))
	cells := `document.querySelectorAll('.grid tbody tr').length + ' ' + document.querySelectorAll('.grid thead th').length`
	before := eval[string](p, cells)
	require.Regexp(t, `\d+ denied, \d+ partly, \d+ open`, p.text("#counts"))
	require.Equal(t, "open", eval[string](p, `document.querySelector('td[data-key="kube-system → (outside)"]').className`), "no policy protects it")
	p.do(chromedp.Evaluate(`location.hash = '#/matrix?from=shop&to=shop&only=allowed&sort=allowed'`, nil), chromedp.WaitVisible(`td[data-key="shop/web-0 → shop/api-0"]`, chromedp.ByQuery))
	require.NotEqual(t, before, eval[string](p, cells))
	require.False(t, eval[bool](p, `document.querySelector('`+fromWebToDB+`')?.dataset.verdict === 'allowed'`))
	require.True(t, eval[bool](p, `document.querySelector('input[name=only]').checked`))
	require.False(t, eval[bool](p, `[...document.querySelectorAll('.grid tbody tr')].some((r) => ![...r.querySelectorAll('td')].some((c) => ['allowed', 'partly'].includes(c.dataset.verdict)))`))
	p.click(`input[name=only]`)
	p.do(chromedp.SendKeys(`input[name=port]`, kb.Enter, chromedp.ByQuery))
	p.await(`!location.hash.includes('only')`)
}

func TestAgreeingFamiliesShareABlock(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.do(chromedp.Evaluate(`location.hash = '#/why?from=shop/web-0&to=shop/db-0&port=5432'`, nil), chromedp.WaitVisible(`#answer .card`, chromedp.ByQuery))
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll('#answer h3').length`))
	for _, want := range []string{"ipv4: 10.244.1.10", "ipv6: fd00:244:1::10"} {
		p.awaitText("#answer h3", want)
	}
}

func TestAPhoneShowsEveryView(t *testing.T) {
	p := openTab(t, startDemo(t), chromedp.EmulateViewport(390, 844))
	for _, view := range []string{"map", "map?open=shop", "overview", "matrix", "matrix?from=shop&to=shop", "why?from=shop/web-0&to=shop/db-0&port=5432", "policy/shop/db", "targets", "policies", "events", "flows", "what-if?policy=NetworkPolicy/shop/db", "suggest?from=shop/web-0&to=shop/db-0&port=5432", "pod/shop/web-0", "service/shop/web", "search?q=web"} {
		p.do(chromedp.Evaluate(`location.hash = '#/`+view+`'`, nil))
		p.await(`document.querySelector('[data-ready]') !== null && document.querySelector('main').textContent.length > 40`)
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), 390, "%s is not wider than the screen", view)
	}
	p.do(chromedp.Evaluate(`location.hash = '#/overview'`, nil))
	p.await(`document.querySelectorAll('main table').length === 3`)
	p.shot("phone")
}
