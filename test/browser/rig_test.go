package browser

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// left is how long a page may take to show something: nearly as long as the test program may run.
func left(t *testing.T) time.Duration {
	end, ok := t.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(end) * 9 / 10
}

var shots = flag.String("shots", "", "directory to write screenshots to")

// program builds netloom once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "netloom-browser-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "netloom")
	build := exec.Command("go", "build", "-tags", "kustomize_disable_go_plugin_support", "-o", path, "./cmd/netloom")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return path, nil
})

// demo is a running demo.
type demo struct {
	dir string // of its manifests
	log string // an ACL log that it may follow, as ovn-controller.log
	url string // of its page
}

// startDemo runs the demo over a copy of the examples until the test ends.
func startDemo(t *testing.T, arguments ...string) *demo {
	t.Helper()
	path, err := program()
	require.NoError(t, err)
	work := t.TempDir()
	d := &demo{dir: t.TempDir(), log: filepath.Join(work, "ovn-controller.log")}
	require.NoError(t, os.CopyFS(d.dir, os.DirFS(filepath.Join(root, "examples"))))
	command := exec.CommandContext(context.Background(), path, append([]string{"demo", "--manifests", d.dir}, arguments...)...)
	command.Stderr, command.Dir = os.Stderr, work
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		require.NoError(t, command.Wait())
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "The web page: "); ok {
			d.url = url
			break
		}
	}
	require.NotEmpty(t, d.url, "the demo says where its page is")
	go func() {
		for lines.Scan() { // so that it never blocks
		}
	}()
	return d
}

// edit replaces a text in a manifest, by a rename.
func (d *demo) edit(t *testing.T, name, old, replacement string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	next := filepath.Join(t.TempDir(), "next")
	require.NoError(t, os.WriteFile(next, []byte(strings.Replace(string(content), old, replacement, 1)), 0o600))
	require.NoError(t, os.Rename(next, path))
}

// tab is a browser with one page in it, and what was wrong there.
type tab struct {
	context.Context //nolint:containedctx // it is the browser
	t               *testing.T
	demo            *demo

	mu     sync.Mutex
	faults []string
	asked  []string // URLs
}

// openTab opens the demo's page. At the end of the test it must have no errors, and have sent requests only to the daemon.
func openTab(t *testing.T, d *demo, actions ...chromedp.Action) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // the tests may run as root
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1200, 800), chromedp.WSURLReadTimeout(left(t)))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	p := &tab{Context: ctx, t: t, demo: d}
	chromedp.ListenTarget(ctx, p.listen)
	p.do(append(append([]chromedp.Action{network.Enable(), log.Enable(), runtime.Enable()}, actions...),
		chromedp.Navigate(d.url+"#/matrix"), chromedp.WaitVisible(`[data-ready]`))...)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		require.Empty(t, p.faults, "nothing goes wrong on the page")
		require.NotEmpty(t, p.asked)
		for _, url := range p.asked {
			require.True(t, strings.HasPrefix(url, d.url), "only the daemon is asked: %s", url)
		}
	})
	return p
}

func (p *tab) listen(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			p.faults = append(p.faults, fmt.Sprint(e.Type, ": ", e.Args))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			p.faults = append(p.faults, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// do runs actions, and fails the test where one cannot be done.
func (p *tab) do(actions ...chromedp.Action) {
	p.t.Helper()
	// The first run starts the browser, which ends with the context: it must not be one with a deadline.
	if chromedp.FromContext(p.Context).Target == nil {
		require.NoError(p.t, chromedp.Run(p.Context))
	}
	ctx, cancel := context.WithTimeout(p.Context, left(p.t))
	defer cancel()
	for _, action := range actions {
		err := chromedp.Run(ctx, action)
		// The page may redraw an element between its look-up and the action on it: the action has not begun then.
		for err != nil && strings.Contains(err.Error(), "Could not find node with given id") {
			err = chromedp.Run(ctx, action)
		}
		require.NoError(p.t, err)
	}
}

// text returns the text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	var text string
	p.do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// eval is the value of an expression on the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	var value T
	p.do(chromedp.Evaluate(expression, &value))
	return value
}

// await waits until an expression is true.
func (p *tab) await(expression string) {
	p.t.Helper()
	p.do(chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(left(p.t))))
}

// click clicks on an element once it is where a pointer would reach it. Looking and clicking are one step, since the page may move the
// element in between.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.await(fmt.Sprintf(`(() => {
		const element = document.querySelector(%q);
		if (element === null) return false;
		element.scrollIntoView({block: 'center'});
		const box = element.getBoundingClientRect();
		const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		if (hit === null || (hit !== element && !element.contains(hit))) return false;
		hit.click();
		return true;
	})()`, selector))
}

// awaitText waits until an element contains a text.
func (p *tab) awaitText(selector, text string) {
	p.t.Helper()
	p.await(fmt.Sprintf(`document.querySelector(%q)?.innerText.includes(%q)`, selector, text))
}

// press sends keys, one after the other.
func (p *tab) press(keys ...string) {
	p.t.Helper()
	for _, key := range keys {
		p.do(chromedp.KeyEvent(key))
	}
}

// shot saves a screenshot, if screenshots are asked for.
func (p *tab) shot(name string) {
	p.t.Helper()
	var picture []byte
	p.do(chromedp.CaptureScreenshot(&picture))
	require.NotEmpty(p.t, picture)
	if *shots != "" {
		require.NoError(p.t, os.WriteFile(filepath.Join(*shots, name+".png"), smaller(p.t, picture), 0o644))
	}
}

// shownColors is how many colours a kept picture has: text and few areas need no more.
const shownColors = 64

// smaller is a PNG with the most frequent colours only, which makes a third of it.
func smaller(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	counts := map[color.RGBA]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			counts[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++ //nolint:forcetypeassert // what the model makes
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range colors[:min(len(colors), shownColors)] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(full.Bounds(), palette)
	draw.Draw(few, few.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few))
	return out.Bytes()
}

// forgive ignores what the browser reports of a path that is expected to fail.
func (p *tab) forgive(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []string
	for _, f := range p.faults {
		if !strings.Contains(f, path) {
			left = append(left, f)
		}
	}
	p.faults = left
}
