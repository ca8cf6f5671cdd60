package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"
)

// digest represents a value that is not stored.
type digest [sha256.Size]byte

// sealer makes digests that are useless outside this process.
type sealer struct{ key []byte }

func newSealer() sealer {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return sealer{key}
}

// digest is the digest of a list of texts, of any bytes. Different lists have different digests.
func (s sealer) digest(parts ...string) digest {
	mac := hmac.New(sha256.New, s.key)
	for _, part := range parts {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		mac.Write([]byte(part))
	}
	return digest(mac.Sum(nil))
}

// answers caches recent results.
type answers[T any] struct {
	lasts time.Duration

	mu   sync.Mutex
	kept map[digest]answer[T]
}

type answer[T any] struct {
	value T
	until time.Time
}

func newAnswers[T any](lasts time.Duration) *answers[T] {
	return &answers[T]{lasts: lasts, kept: map[digest]answer[T]{}}
}

// find returns the value cached under key if it has not expired.
func (a *answers[T]) find(key digest) (value T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	got, ok := a.kept[key]
	if !ok || !time.Now().Before(got.until) {
		delete(a.kept, key)
		return value, false
	}
	return got.value, true
}

// keep caches a result. If the cache is full, the oldest one is dropped.
func (a *answers[T]) keep(key digest, value T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if _, again := a.kept[key]; !again && len(a.kept) >= keptAtMost {
		a.makeRoom(now)
	}
	a.kept[key] = answer[T]{value, now.Add(a.lasts)}
}

// makeRoom drops expired results, otherwise the one that expires first. The caller holds the lock.
func (a *answers[T]) makeRoom(now time.Time) {
	var oldest digest
	var at time.Time
	for key, one := range a.kept {
		if !now.Before(one.until) {
			delete(a.kept, key)
			continue
		}
		if at.IsZero() || one.until.Before(at) {
			oldest, at = key, one.until
		}
	}
	if len(a.kept) >= keptAtMost {
		delete(a.kept, oldest)
	}
}
