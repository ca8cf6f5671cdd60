package source

import (
	"context"
	"errors"
)

// Secrets reads Secrets by name. A Secret is not an object of a Source: it is read where it is needed, and its data goes
// nowhere else.
type Secrets interface {
	// Secret returns the data of a Secret. The error names the Secret and never its data; it is ErrNoSecret if there is
	// none. The caller may change the data.
	Secret(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// ErrNoSecret is the error for a Secret that does not exist.
var ErrNoSecret = errors.New("there is no such Secret")

// CopyData copies the data of a Secret, so that no caller changes what another one got.
func CopyData(data map[string][]byte) map[string][]byte {
	if data == nil {
		return nil
	}
	c := make(map[string][]byte, len(data))
	for k, v := range data {
		c[k] = append([]byte{}, v...)
	}
	return c
}
