package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	settleTime = 50 * time.Millisecond  // a directory is read once it has been quiet for this long
	settleMax  = 500 * time.Millisecond // or, if it never is, this long after the first change
	sweepTime  = time.Minute            // and at least this often: some file systems report no changes
	retryTime  = time.Second            // and this often while something cannot be read or watched
	lateSweeps = 3                      // the manifests are not known to be current after so many sweeps
	hangTime   = 10 * time.Second       // a reading that takes longer is reported
	leaveTime  = time.Second            // a reading that takes longer is not waited for at the end
)

// hanging is the fault of what a reading waits for.
const hanging = "reading it takes longer than usual and cannot be interrupted, as when the server of a network file system is away; " +
	"the manifests stay as they were"

// Run reads the directory, and reads it again when something in it changes, until ctx ends.
func (d *Directory) Run(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		d.watched = err
		watcher = &fsnotify.Watcher{} // its nil channels never deliver
	} else {
		defer func() {
			if err := watcher.Close(); err != nil {
				d.log.WithError(err).Debug("closing the watch on manifests")
			}
		}()
	}
	d.follow(ctx, watcher)
	return nil
}

// scanned is the result of a reading.
type scanned struct {
	wait  time.Duration   // the longest one before the next reading
	paths map[string]bool // real ones of the manifests
}

// follow reads the directory whenever the watcher or the clock triggers it. A reading that hangs, as on a network file system whose server
// is away, is reported, and not waited for when ctx ends.
func (d *Directory) follow(ctx context.Context, watcher *fsnotify.Watcher) {
	settle, sweep, late := time.NewTimer(0), time.NewTimer(sweepTime), time.NewTimer(hangTime)
	defer settle.Stop()
	defer sweep.Stop()
	defer late.Stop()
	var (
		first   time.Time // of the changes since the last reading began; zero if there was none
		paths   map[string]bool
		results = make(chan scanned, 1)
		reading bool
	)
	stir := func() {
		if first.IsZero() {
			first = time.Now()
		}
		settle.Reset(max(0, min(settleTime, settleMax-time.Since(first))))
	}
	read := func() {
		if reading {
			return // the result triggers the next one if there were changes
		}
		reading, first = true, time.Time{}
		late.Reset(hangTime)
		go func() { results <- d.scan(watcher) }()
	}
	for {
		select {
		case <-ctx.Done():
			if reading {
				d.leave(results)
			}
			return
		case e := <-watcher.Events:
			if d.matters(e, paths) {
				stir()
			}
		case err := <-watcher.Errors: // such as more events than the queue holds
			d.log.WithError(err).Debug("changes of manifests may have been missed")
			stir()
		case <-settle.C:
			read()
		case <-sweep.C:
			read()
		case <-late.C:
			if reading {
				d.hang(*d.place.Load())
			}
		case r := <-results:
			reading, paths = false, r.paths
			d.hang("")
			sweep.Reset(r.wait)
			if !first.IsZero() {
				stir()
			}
		}
	}
}

// leave waits for a reading, unless it hangs: nothing can interrupt it.
func (d *Directory) leave(results <-chan scanned) {
	patience := time.NewTimer(leaveTime)
	defer patience.Stop()
	select {
	case <-results:
	case <-patience.C:
		d.log.WithField("path", *d.place.Load()).Warn("reading the manifests hangs: it is not waited for")
	}
}

// hang records what the present reading hangs at; "" is that it does not.
func (d *Directory) hang(path string) {
	d.mu.Lock()
	was := d.hangs
	d.hangs = path
	d.mu.Unlock()
	if path != was {
		d.Ring()
	}
}

// at records what is being read.
func (d *Directory) at(path string) { d.place.Store(&path) }

// matters reports whether an event can change the manifests, of which some have real paths. It cannot if it is about files of other programs.
func (d *Directory) matters(e fsnotify.Event, paths map[string]bool) bool {
	if e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		return filepath.Ext(e.Name) != ".swp" && !strings.HasSuffix(e.Name, "~")
	}
	return e.Has(fsnotify.Chmod) || isManifest(e.Name) || paths[e.Name]
}

// scan reads the directory and watches its present parts.
func (d *Directory) scan(watcher *fsnotify.Watcher) scanned {
	unwatched := d.watched
	t := d.read(func(dir string) {
		if d.watched != nil {
			return
		}
		if err := watcher.Add(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			unwatched = errors.Join(unwatched, fmt.Errorf("%s: %w", dir, err))
		}
	}, true)
	if d.watched == nil {
		for _, dir := range watcher.WatchList() {
			if !t.dirs[dir] {
				_ = watcher.Remove(dir) // it may be gone, and its watch with it
			}
		}
	}
	if unwatched != nil {
		d.log.WithError(unwatched).Debug("manifests cannot be watched, they are read every second instead")
	}
	wait := sweepTime
	switch {
	case len(d.drafts) > 0:
		wait = draftQuiet
	case unwatched != nil || len(t.faults) > 0:
		wait = retryTime
	}
	return scanned{wait: wait, paths: t.real}
}
