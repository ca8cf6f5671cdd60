//go:build e2e

package e2ekube_test

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/stretchr/testify/require"
)

// share is a directory as a network file system has it, whose server can fail.
type share struct {
	dir string

	mu      sync.Mutex
	fault   fault
	release chan struct{} // ends reads that hang; nil if none do
	waiting int           // how many do
}

// fault is how the server of a share fails.
type fault struct {
	reads  syscall.Errno // of every read of a file
	stale  string        // files whose names begin like this have other handles: ESTALE; "" is none
	lists  syscall.Errno // of every list of a directory
	halves bool          // a file ends after half of its size
}

// mountShare mounts a share until the test ends.
func mountShare(t *testing.T) *share {
	t.Helper()
	s := &share{dir: t.TempDir()}
	data := &fs.LoopbackRoot{Path: t.TempDir()}
	data.NewNode = func(*fs.LoopbackRoot, *fs.Inode, string, *syscall.Stat_t) fs.InodeEmbedder {
		return &shareNode{LoopbackNode: fs.LoopbackNode{RootData: data}, share: s}
	}
	top := &shareNode{LoopbackNode: fs.LoopbackNode{RootData: data}, share: s}
	data.RootNode = top
	// Nothing is cached in the kernel: every call reaches the server.
	server, err := fs.Mount(s.dir, top, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "share"}})
	require.NoError(t, err)
	t.Cleanup(func() {
		s.mend()
		require.NoError(t, server.Unmount())
	})
	return s
}

// fail makes the server fail from now on.
func (s *share) fail(f fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// hang makes reads of files wait until mend.
func (s *share) hang() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release = make(chan struct{})
}

// mend ends every fault.
func (s *share) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault{}
	if s.release != nil {
		close(s.release)
		s.release = nil
	}
}

// hung reports whether a read hangs.
func (s *share) hung() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting > 0
}

func (s *share) wait(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting += more
}

func (s *share) now() (f fault, release <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault, s.release
}

func (s *share) stale(name string) bool {
	f, _ := s.now()
	return f.stale != "" && strings.HasPrefix(name, f.stale)
}

// shareNode is a file or a directory of a share.
type shareNode struct {
	fs.LoopbackNode
	share *share
}

func (n *shareNode) stale() bool { return n.share.stale(n.Path(nil)) }

// Lookup finds an entry of a directory.
func (n *shareNode) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if n.share.stale(name) {
		return nil, syscall.ESTALE
	}
	return n.LoopbackNode.Lookup(ctx, name, out)
}

// Getattr returns the size of a file, among others.
func (n *shareNode) Getattr(ctx context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	if n.stale() {
		return syscall.ESTALE
	}
	return n.LoopbackNode.Getattr(ctx, nil, out) // by path: the handle is one of a share
}

// OpendirHandle opens a directory to list it.
func (n *shareNode) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if f, _ := n.share.now(); f.lists != 0 {
		return nil, 0, f.lists
	}
	return n.LoopbackNode.OpendirHandle(ctx, flags)
}

// Open opens a file.
func (n *shareNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if n.stale() {
		return nil, 0, syscall.ESTALE
	}
	inner, _, errno := n.LoopbackNode.Open(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &shareFile{FileHandle: inner, share: n.share}, fuse.FOPEN_DIRECT_IO, 0
}

// shareFile is a file that is open for reading.
type shareFile struct {
	fs.FileHandle
	share *share
}

// Read reads from a file.
func (f *shareFile) Read(ctx context.Context, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	is, release := f.share.now()
	if release != nil {
		f.share.wait(1)
		defer f.share.wait(-1)
		select {
		case <-release:
		case <-ctx.Done(): // the program that reads was killed
			return nil, syscall.EINTR
		}
	}
	if is.reads != 0 {
		return nil, is.reads
	}
	if is.halves {
		var info fuse.AttrOut
		if errno := f.FileHandle.(fs.FileGetattrer).Getattr(ctx, &info); errno != 0 {
			return nil, errno
		}
		into = into[:max(0, min(int64(len(into)), int64(info.Size/2)-offset))]
	}
	return f.FileHandle.(fs.FileReader).Read(ctx, into, offset)
}

// Release closes the file.
func (f *shareFile) Release(ctx context.Context) syscall.Errno {
	return f.FileHandle.(fs.FileReleaser).Release(ctx)
}
