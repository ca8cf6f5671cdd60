package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
)

// seal makes keys of caches: digests that reveal no token, and that nobody outside this process can compute.
type seal []byte

func newSeal() seal {
	key := make(seal, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}

// key is the key of a list of texts. Different lists have different keys.
func (s seal) key(parts ...string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, s)
	for _, part := range parts {
		_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = mac.Write([]byte(part))
	}
	return [sha256.Size]byte(mac.Sum(nil))
}
