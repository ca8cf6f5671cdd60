package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/sirupsen/logrus"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const (
	maxWaiting = 16 << 20  // bytes of events that wait to be written
	maxFile    = 100 << 20 // bytes of a file, until it is moved to the same name with .1
)

// Log writes events to a file or to standard output. Make it with Open. It is safe for concurrent use.
type Log struct {
	path string
	log  logrus.FieldLogger
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	waiting []byte
	dropped uint64
	closed  bool

	file   *os.File // used by write alone
	size   int64
	failed string // the last fault that was logged
}

// Open opens a log that appends to a file; "-" is standard output. Close it.
func Open(path string, log logrus.FieldLogger) (*Log, error) {
	l := &Log{path: path, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}), file: os.Stdout}
	if !l.standard() {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	go l.run()
	return l, nil
}

func (l *Log) standard() bool { return l.path == "-" }

// open opens the file. Only its owner can read it.
func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", l.path)
	}
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write writes an event soon. If too many wait, it is dropped, and counted.
func (l *Log) Write(event *auditv1.Event) {
	line, err := json.Marshal(event)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.closed || len(l.waiting)+len(line) >= maxWaiting {
		l.dropped++
		return
	}
	l.waiting = append(append(l.waiting, line...), '\n')
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Dropped returns how many events were not written.
func (l *Log) Dropped() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped
}

// Close writes the events that wait.
func (l *Log) Close() error {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	close(l.wake)
	<-l.done
	if l.standard() || l.file == nil {
		return nil
	}
	return l.file.Close()
}

// run writes events until the log is closed.
func (l *Log) run() {
	defer close(l.done)
	var spare []byte
	for more := true; more; {
		_, more = <-l.wake
		l.mu.Lock()
		batch := l.waiting
		l.waiting = spare[:0]
		l.mu.Unlock()
		if err := l.write(batch); err != nil {
			l.mu.Lock()
			l.dropped += uint64(bytes.Count(batch, []byte{'\n'})) //nolint:gosec // it is not negative
			l.mu.Unlock()
			if l.failed != err.Error() {
				l.log.WithError(err).Error("audit events cannot be written")
			}
			l.failed = err.Error()
		} else {
			l.failed = ""
		}
		if spare = batch; cap(spare) > maxWaiting/16 {
			spare = nil
		}
	}
}

// write appends to the file. One that was moved away or deleted is made again.
func (l *Log) write(batch []byte) error {
	if len(batch) == 0 {
		return nil
	}
	if !l.standard() {
		if err := l.follow(int64(len(batch))); err != nil {
			return err
		}
	}
	n, err := l.file.Write(batch)
	l.size += int64(n)
	return err
}

// follow has the file be the one at its path, with room for more bytes.
func (l *Log) follow(more int64) error {
	if l.file != nil {
		mine, err := l.file.Stat()
		there, gone := os.Stat(l.path)
		same := err == nil && gone == nil && os.SameFile(mine, there)
		if same && (l.size == 0 || l.size+more <= maxFile) {
			return nil
		}
		if same {
			if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		_ = l.file.Close() // what was written is there
		l.file = nil
	}
	return l.open()
}
