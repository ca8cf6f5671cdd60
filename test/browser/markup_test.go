package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// markup is a text that would show that it was taken for HTML: by an element, or by a call.
const markup = `<img src=x onerror=window.run=1><script>window.run=1</script>"'><svg onload=window.run=1>`

// hostile has it in every field of which a page may show something: the API server accepts all of these annotations, and the files may
// be anybody's.
const hostile = `
apiVersion: v1
kind: Pod
metadata:
  name: hostile
  namespace: shop
  labels: {app: web}
  annotations: {netloom.io/log: 'MARKUP', example.com/x: 'MARKUP'}
spec: {nodeName: node-a, containers: [{name: c, image: 'MARKUP', ports: [{name: p, containerPort: 80}]}]}
status: {phase: Running, podIP: 10.244.1.99}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: hostile, namespace: shop, annotations: {netloom.io/log: 'MARKUP', netloom.io/log-rate: 'MARKUP', example.com/x: 'MARKUP'}}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{ipBlock: {cidr: 'MARKUP'}}], ports: [{port: 'MARKUP'}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: hostile, namespace: shop, annotations: {netloom.io/network: 'MARKUP', example.com/x: 'MARKUP'}}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

// TestMarkupInObjectsIsText opens every view over objects and files whose texts are HTML. None of it becomes an element, and none runs.
func TestMarkupInObjectsIsText(t *testing.T) {
	d := startDemo(t)
	p := openTab(t, d)
	text := quoted(hostile)
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "shop", "hostile.yaml"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(d.dir, "shop", "<img src=x onerror=window.run=1>.yaml"), []byte("kind: '"+quoted("MARKUP")+"'\n"), 0o600))
	p.do(chromedp.Evaluate(`location.hash = '#/policies'`, nil))
	p.awaitText("main", "<img src=x") // as text, of a problem
	for _, view := range []string{
		"#/", "#/map", "#/matrix", "#/policies", "#/targets", "#/flows", "#/why", "#/what-if", "#/pod/shop/hostile", "#/policy/shop/hostile",
		"#/service/shop/hostile", "#/search?q=hostile", "#/search?q=" + `%3Cimg%20src%3Dx%20onerror%3Dwindow.run%3D1%3E`,
	} {
		p.do(chromedp.Evaluate(`document.querySelector('#title').textContent = ''; location.hash = '`+view+`'`, nil))
		p.await(`document.querySelector('#title').textContent !== '' && document.querySelector('main').textContent.trim() !== ''`)
		require.Zero(t, eval[int](p, `document.querySelectorAll('img, main script, [onerror], [onload]').length`), view)
		require.True(t, eval[bool](p, `window.run === undefined`), "something ran: %s", view)
	}
}

// quoted is a manifest with the markup in it. In YAML, a quotation mark within single ones is written twice.
func quoted(manifest string) string {
	return strings.ReplaceAll(manifest, "MARKUP", strings.ReplaceAll(markup, "'", "''"))
}
