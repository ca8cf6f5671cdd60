package browser

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

func TestTheSearchLeadsToPodsAndServices(t *testing.T) {
	p := openTab(t, startDemo(t))
	// Only the key, as a browser does where a page takes it: KeyEvent would send its character as well.
	p.do(input.DispatchKeyEvent(input.KeyRawDown).WithKey("/").WithCode("Slash"))
	require.Equal(t, "search", eval[string](p, `document.activeElement.id`))
	p.press("w", "e", "b", kb.Enter)
	p.await(`location.hash === '#/search?q=web' && document.querySelector('main a[href="#/service/shop/web"]') !== null`)
	for _, want := range []string{"#/pod/shop/web-0", "#/policy/shop/web"} {
		require.Equal(t, 1, eval[int](p, `document.querySelectorAll('main a[href="`+want+`"]').length`), want)
	}
	p.click(`main a[href="#/service/shop/web"]`)
	p.await(`document.querySelector('main').textContent.includes('Load_Balancer')`)
	p.awaitText("main", "10.244.1.10:8080 shop/web-0, 10.244.2.10:8080 shop/web-1")
	p.awaitText("main", "NetworkPolicy/shop/default-deny")

	p.click(`main a[href="#/pod/shop/web-0"]`)
	p.await(`document.querySelector('#title').textContent === 'Pod shop/web-0' && document.querySelectorAll('main details').length === 3`)
	for _, want := range []string{"the pod is found", "isolated for ingress by NetworkPolicy/shop/default-deny", "shop/api-0", "outside 0.0.0.0/0 except 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16"} {
		p.awaitText("main", want)
	}
	p.shot("pod")
	p.do(chromedp.Evaluate(`location.hash = '#/pod/kube-system/coredns-0'`, nil))
	p.await(`document.querySelector('#title').textContent === 'Pod kube-system/coredns-0' && document.querySelector('main dl') !== null`)
	p.awaitText("main", "no policy selects the pod")
	require.Zero(t, eval[int](p, `document.querySelectorAll('main .verdict.allow').length`), "what nothing isolates is not shown in green")

	p.do(chromedp.Evaluate(`location.hash = '#/search?q=%3Cimg%20src%3Dx%3E'`, nil))
	p.await(`document.querySelector('#title').textContent === 'Search: <img src=x>'`)
	require.Zero(t, eval[int](p, `document.querySelectorAll('img').length`))
}
