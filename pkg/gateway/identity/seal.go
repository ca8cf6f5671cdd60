package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
)

// seal makes keys of caches: digests that reveal no token, and that nobody outside this process can compute.
type seal []byte

func newSeal() seal {
	key := make(seal, sha256.Size)
	_, _ = rand.Read(key) // it never fails
	return key
}

// key is the key of a text.
func (s seal) key(text string) [sha256.Size]byte {
	mac := hmac.New(sha256.New, s)
	_, _ = mac.Write([]byte(text)) // it never fails
	return [sha256.Size]byte(mac.Sum(nil))
}
