package kube

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime/debug"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// A page has as many objects as one of client-go, and about as many bytes as the largest object of an API. Decoded, a NetworkPolicy takes up
// to 27 times as much memory. A list that expires before its end is read again in larger pages, and at last in one.
const (
	pageObjects = 500
	pageBytes   = 2 << 20
	objectBytes = 64 << 20 // of a single object, which an API server would not store
	listBytes   = 1 << 30  // of a list without pages, see mostBytes
	mostExpired = 4        // lists in a row, until one is read without pages
)

// pages reads the pages of one kind. The zero value is not usable: newPages makes one. It is safe for concurrent use.
type pages struct {
	list cache.ListWithContextFunc

	mu      sync.Mutex
	next    int64 // objects of the next page
	expired int   // lists in a row that the API did not continue; one less for each that it did
}

func newPages(list cache.ListWithContextFunc) *pages { return &pages{list: list, next: pageObjects} }

// read reads a page of up to opts.Limit objects, 0 for any number. It has fewer if they are large.
// A client without Config, such as a fake, delivers pages of any size.
func (p *pages) read(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	wanted := opts.Limit
	for {
		size := &pageSize{}
		opts.Limit, size.most = p.limits(wanted)
		o, err := p.list(context.WithValue(ctx, pageKey{}, size), opts)
		tooLarge := errors.Is(err, errPageTooLarge)
		if err != nil && (!tooLarge || opts.Limit <= 1) {
			return nil, err
		}
		p.adapt(opts.Limit, tooLarge, size)
		if !tooLarge {
			return o, nil
		}
	}
}

// limits returns how many objects and bytes the next page may have. Any number of objects is 0.
func (p *pages) limits(wanted int64) (objects int64, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wanted == 0 && p.expired >= mostExpired {
		return 0, mostBytes()
	}
	objects = p.next
	if wanted > 0 {
		objects = min(objects, wanted)
	}
	if objects == 1 {
		return 1, objectBytes
	}
	return objects, min(pageBytes*p.larger(), mostBytes())
}

// mostBytes is how large a list without pages may be: an eighth of the memory limit, as an API server, one of another cluster too, could exhaust the memory
// otherwise.
func mostBytes() int {
	return int(max(pageBytes, min(listBytes, debug.SetMemoryLimit(-1)/8)))
}

// larger is how many times as large as usual a page may be. The lock is held.
func (p *pages) larger() int { return 1 << (2 * p.expired) }

// adapt chooses the limit of the next page, given the limit of this one, whether it was too large, and its bytes. At most as many pages are
// too large as are used, and four more.
func (p *pages) adapt(limit int64, tooLarge bool, size *pageSize) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case tooLarge:
		p.next = max(1, limit/4)
	case limit == p.next && size.read < pageBytes*p.larger()/2:
		p.next = min(int64(pageObjects*p.larger()), 2*limit)
	}
}

// expire makes the pages of the next list larger, so that fewer are requested before it expires.
func (p *pages) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expired < mostExpired {
		p.expired++
		p.next *= 4
	}
}

// complete makes the pages of the next list smaller again, if they are large.
func (p *pages) complete() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expired > 0 {
		p.expired--
		p.next = max(1, p.next/4)
	}
}

// all returns a list of all objects as they are kept: each is transformed before the next page is read, so that no more objects
// than those of a page are in memory as the API delivers them. The list is consistent; if the API can no longer continue it, the
// error is that of the API (410), and it has to be read again. Its pages are larger then.
func (p *pages) all(ctx context.Context, transform cache.TransformFunc) (runtime.Object, error) {
	out := &keptList{}
	var opts metav1.ListOptions
	for {
		o, err := p.read(ctx, opts)
		if opts.Continue != "" && apierrors.IsResourceExpired(err) {
			p.expire()
		}
		if err != nil {
			return nil, err
		}
		list, err := meta.ListAccessor(o)
		if err != nil {
			return nil, err
		}
		// With an allocation for each, because an object that is kept must not keep the others of its page.
		err = meta.EachListItemWithAlloc(o, func(item runtime.Object) error {
			kept, err := transform(item)
			out.Items = append(out.Items, &keptItem{kept: kept})
			return err
		})
		if err != nil {
			return nil, err
		}
		out.ResourceVersion = list.GetResourceVersion()
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			p.complete()
			return out, nil
		}
	}
}

// keptList is a list of objects as they are kept.
type keptList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object // each is a *keptItem
}

// DeepCopyObject implements runtime.Object. What is kept is shared.
func (l *keptList) DeepCopyObject() runtime.Object {
	out := *l
	return &out
}

// keptItem passes an object through a list in the form in which it is kept.
type keptItem struct {
	metav1.TypeMeta

	kept any
}

// DeepCopyObject implements runtime.Object. What is kept is shared.
func (i *keptItem) DeepCopyObject() runtime.Object {
	out := *i
	return &out
}

// pageKey marks the context of a request for a page; its value is a *pageSize.
type pageKey struct{}

// pageSize bounds the bytes of a page, and counts them.
type pageSize struct {
	most int
	read int
}

// errPageTooLarge is the error of a request for a page that has too many bytes.
var errPageTooLarge = errors.New("the response of the API server is too large")

// paging bounds the pages that are requested. A page with too many bytes is not read to its end.
type paging struct{ next http.RoundTripper }

func (t paging) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	size, _ := r.Context().Value(pageKey{}).(*pageSize)
	if err != nil || size == nil || res.StatusCode != http.StatusOK {
		return res, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(size.most)+1))
	if err != nil {
		return nil, err
	}
	if size.read = len(body); size.read > size.most {
		return nil, errPageTooLarge
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (t paging) WrappedRoundTripper() http.RoundTripper { return t.next }
