// Package memo caches parsed texts, so that the same text is parsed once.
package memo

import (
	"crypto/sha256"
	"sync"
)

// most is how many texts are remembered. There are as many schemas as versions of OVN in use.
const most = 8

// Memo remembers values by the content of the texts they were parsed from. The zero value is ready to use. It is safe for
// concurrent use. Values are shared and must not be changed.
type Memo[V any] struct {
	mu     sync.Mutex
	values map[[sha256.Size]byte]V
}

// Get returns the value parsed from an equal text, or calls parse. An error is returned and not remembered.
func (m *Memo[V]) Get(text []byte, parse func([]byte) (V, error)) (V, error) {
	key := sha256.Sum256(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[key]; ok {
		return v, nil
	}
	v, err := parse(text)
	if err != nil {
		return v, err
	}
	if m.values == nil || len(m.values) >= most {
		m.values = make(map[[sha256.Size]byte]V, most)
	}
	m.values[key] = v
	return v, nil
}
