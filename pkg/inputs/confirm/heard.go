package confirm

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// heard is what the watch of a kind has delivered: how far, and when last. It can end the watch, after which the informer
// opens another or lists the kind again.
type heard struct {
	relisted func(ctx context.Context, version string) // called when the kind has been listed again, before the informer takes the list
	reader   *Reader                                   // what reads the kind instead of an informer; nil for an informer

	mu      sync.Mutex
	version string    // the highest resource version of an object, a bookmark or a list; "" if there was none
	before  string    // the same before the list in progress; "" if there is none
	back    bool      // the API went back, and not all that is held has been compared since
	at      time.Time // when something was delivered last
	marks   bool      // the watch that is open has delivered a bookmark, which promises others
	open    *watched  // nil if no watch is open
	relist  string    // why the kind has to be listed again; "" if it has not
}

// lists forgets the versions of earlier lists: that of the one that begins counts, even if the API has gone back.
func (h *heard) lists() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.before == "" {
		h.before = h.version
	}
	h.version, h.at, h.relist = "", time.Now(), ""
}

// note records the version of something that was delivered. Complete is whether it is that of a list, or of all up to here.
func (h *heard) note(ctx context.Context, version string, complete bool) {
	h.mu.Lock()
	h.at = time.Now()
	if h.version == "" || later(version, h.version) {
		h.version = version
	}
	again := complete && h.before != ""
	h.mu.Unlock()
	if !again {
		return
	}
	h.relisted(ctx, version)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.before = ""
}

// highest is the latest version that watches of the kind have delivered, including before the list in progress.
func (h *heard) highest() string {
	if h.reader != nil {
		return h.reader.Version()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version == "" || later(h.before, h.version) {
		return h.before
	}
	return h.version
}

// promises records that the open watch delivers bookmarks.
func (h *heard) promises() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = true
}

// fellBack records that the API went back. It returns false if that was known.
func (h *heard) fellBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.back
	h.back = true
	return !was
}

// isBack reports whether objects may be missing because the API went back.
func (h *heard) isBack() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.back
}

// caughtUp ends what isBack reports: all that is held is what the API has.
func (h *heard) caughtUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.back = false
}

// later reports whether version a comes after b. Versions that are not numbers have no order.
func later(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// last returns when something was last heard of the watch. Promised is whether it delivers bookmarks.
func (h *heard) last() (at time.Time, promised bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at, h.marks && h.open != nil
}

// opened follows a watch that has been opened.
func (h *heard) opened(ctx context.Context, inner apiwatch.Interface) apiwatch.Interface {
	w := &watched{inner: inner, out: make(chan apiwatch.Event), ended: make(chan struct{}), expire: make(chan string, 1)}
	h.mu.Lock()
	h.open, h.marks, h.at = w, false, time.Now()
	if h.relist != "" {
		w.expire <- h.relist
	}
	h.mu.Unlock()
	go func() {
		w.run(ctx, h)
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.open == w {
			h.open = nil
		}
	}()
	return w
}

// replace ends the open watch. If why is not "", the objects held differ from those of the API, and the kind is listed again.
func (h *heard) replace(why string) {
	if h.reader != nil {
		h.reader.Reread(why)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if why != "" {
		h.relist = why
	}
	if h.open != nil {
		select {
		case h.open.expire <- why:
		default: // it ends already
		}
	}
}

// following returns lw, whose lists and watches h follows.
func (h *heard) following(lw *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			h.lists()
			o, err := lw.ListWithContextFunc(ctx, opts)
			if err != nil {
				return nil, err
			}
			if list, err := meta.ListAccessor(o); err == nil {
				h.note(ctx, list.GetResourceVersion(), true)
			}
			return o, nil
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
				h.lists()
			}
			w, err := lw.WatchFuncWithContext(ctx, opts)
			if err != nil {
				return nil, err
			}
			return h.opened(ctx, w), nil
		},
	}
}
