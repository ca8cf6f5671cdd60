package certs

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// Files is a certificate and its key in PEM files. NewFiles makes one.
type Files struct {
	cert, key string
	log       logrus.FieldLogger

	mu     sync.Mutex
	read   [2]stamp // of the files that pair was read from
	pair   *tls.Certificate
	failed string // what was logged last
}

// stamp tells one state of a file from another without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

// NewFiles reads the files, and fails if they hold no certificate and its key.
func NewFiles(cert, key string, log logrus.FieldLogger) (*Files, error) {
	f := &Files{cert: cert, key: key, log: log}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f, f.load()
}

// Certificate is the one that the files hold now, or held when they last could be read.
func (f *Files) Certificate() (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.load(); err != nil && err.Error() != f.failed {
		f.failed = err.Error()
		f.log.WithError(err).Warn("serving with the certificate read before")
	}
	return f.pair, nil
}

// load reads the files if they changed since they were read. The caller holds the lock.
func (f *Files) load() error {
	var now [2]stamp
	for i, name := range []string{f.cert, f.key} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificate and key: %w", err)
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if f.pair != nil && now == f.read {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return fmt.Errorf("read certificate and key: %w", err)
	}
	f.read, f.pair, f.failed = now, &pair, ""
	return nil
}
