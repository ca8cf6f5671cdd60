package certs

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Files is a certificate and its key in PEM files, read again when they change. NewFiles makes one.
type Files struct {
	cert, key string
	log       logrus.FieldLogger

	mu     sync.Mutex
	stamps [2]stamp // of the files that pair was read from
	pair   *tls.Certificate
	failed string // the last logged fault
}

// stamp distinguishes states of a file without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

// NewFiles uses files that may not exist yet.
func NewFiles(cert, key string, log logrus.FieldLogger) *Files {
	return &Files{cert: cert, key: key, log: log}
}

// Certificate returns the one in the files now, or when they were last readable. It fails before they have been readable.
func (f *Files) Certificate() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load()
	if f.pair == nil {
		return nil, err
	}
	return f.pair, nil
}

// Trouble returns why the files cannot be read while the previous certificate is served; nil if they can.
func (f *Files) Trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.load()
}

// load reads the files if they have changed since they were read, and logs the result. The caller holds the lock.
func (f *Files) load() error {
	err := f.read()
	switch {
	case err == nil:
		f.failed = ""
	case err.Error() != f.failed:
		f.failed = err.Error()
		f.log.WithError(err).Warn("the serving certificate cannot be read; the previous one, if any, stays in use")
	}
	return err
}

func (f *Files) read() error {
	var now [2]stamp
	for i, name := range []string{f.cert, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificate and key: %w", err)
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if f.pair != nil && now == f.stamps {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("read certificate and key: %w", err)
	}
	f.stamps, f.pair = now, &pair
	return nil
}
