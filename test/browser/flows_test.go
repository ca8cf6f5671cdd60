package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/netloom/netloom/pkg/inputs/acllog"
	"github.com/netloom/netloom/pkg/inputs/acllog/acllogtest"
)

// logLine is what ovn-controller writes for a packet now.
func logLine(acl string, verdict acllog.Verdict, from, to string, port int) string {
	return acllogtest.Line(time.Now(), acl, verdict, from, to, port)
}

func TestADeniedFlowLeadsToASuggestionAndItsEffect(t *testing.T) {
	d := startDemo(t, "--acl-log", "ovn-controller.log")
	p, path := openTab(t, d), d.log
	p.do(chromedp.Evaluate(`location.hash = '#/flows'`, nil))
	p.await(`document.querySelector('main').textContent.includes('there is no such file yet')`)
	acllogtest.Append(t, path, logLine("shop/db ingress", acllog.Drop, "10.244.1.40", "10.244.2.30", 5432)+
		logLine("<img src=x onerror=alert(1)>", acllog.Allow, "203.0.113.7", "10.244.1.10", 8080)+
		logLine("shop/db ingress[0]", acllog.Allow, "10.244.1.20", "10.244.2.30", 5432))
	p.await(`document.querySelectorAll('main tbody tr').length === 3`)
	for _, want := range []string{"monitoring/prometheus-0 → shop/db-0 tcp/5432", "NetworkPolicy/shop/db default deny", "NetworkPolicy/shop/db spec.ingress[0]", "ACL <img src=x onerror=alert(1)>, of no known policy"} {
		p.awaitText("main", want)
	}
	require.Contains(t, eval[string](p, `document.querySelector('main tbody tr').textContent`), "denied", "what was denied comes first")
	p.shot("flows")
	acllogtest.Append(t, path, logLine("shop/db ingress", acllog.Drop, "10.244.1.40", "10.244.2.30", 5432))
	p.await(`document.querySelector('#counts').textContent.includes('2 times')`)

	p.do(chromedp.Evaluate(`[...document.querySelectorAll('main a')].find((a) => a.textContent === 'Suggest a policy').click()`, nil), chromedp.WaitVisible(`main pre`, chromedp.ByQuery))
	p.awaitText("main pre", "kind: NetworkPolicy")
	p.awaitText("main", "opens nothing else")
	p.click(`a[href="#/what-if"]:not(nav a)`)
	p.await(`document.querySelector('#effect table') !== null`)
	p.awaitText("#effect", "monitoring/prometheus-0")
	p.awaitText("#effect", "tcp/5432")
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll('#effect tbody tr').length`), "what was suggested, and nothing else")
}

func TestAnEditShowsWhatItOpensAndCloses(t *testing.T) {
	p := openTab(t, startDemo(t))
	p.do(chromedp.Evaluate(`location.hash = '#/policy/shop/db'`, nil))
	p.click(`a[href^="#/what-if?"]`)
	p.await(`document.querySelector('#unchanged') !== null`)
	set := func(old, replacement string) {
		t.Helper()
		p.do(chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector('#manifest'); e.value = e.value.replace(%q, %q); e.dispatchEvent(new Event('input')) })()`, old, replacement), nil))
	}
	set("podSelector:\n        matchLabels:\n          app: api", "ipBlock:\n        cidr: 203.0.113.0/24")
	p.await(`document.querySelectorAll('#effect table').length === 2`)
	require.Equal(t, "Fromoutside 203.0.113.0/24", eval[string](p, `document.querySelector('#effect thead th').textContent + document.querySelector('#effect tbody th').textContent`))
	p.awaitText("#effect", "shop/api-0, shop/api-1")
	p.shot("what-if")
	set("port: 5432", "port: 99999")
	p.await(`document.querySelector('#effect button') !== null`)
	p.awaitText("#effect", "Nothing is compared until the text can be read")
	p.click(`#effect button`)
	require.Equal(t, "    - port: 99999", eval[string](p, `(() => { const e = document.querySelector('#manifest'); return e.value.slice(e.selectionStart, e.selectionEnd) })()`))
	p.press(kb.Tab) // the text is no trap
	require.NotEqual(t, "manifest", eval[string](p, `document.activeElement.id`))
	p.do(chromedp.Evaluate(`(() => { const e = document.querySelector('#manifest'); e.value = ''; e.dispatchEvent(new Event('input')) })()`, nil))
	p.await(`document.querySelector('#effect').textContent.includes('without NetworkPolicy/shop/db')`)
	p.do(chromedp.Evaluate(`location.hash = '#/policy/shop/db'`, nil))
	p.await(`document.querySelector('#title').textContent === 'NetworkPolicy shop/db' && document.querySelector('main').textContent.includes('tcp/5432')`) // nothing was applied
}
