package tungsten

import (
	"strings"

	"github.com/google/uuid"
)

// joinName is a fully qualified name in one string.
func joinName(fqName []string) string { return strings.Join(fqName, ":") }

func hasColon(part string) bool { return strings.Contains(part, ":") }

// newUUID is a random UUID.
func newUUID() string { return uuid.NewString() }

// isUUID reports whether a text is a UUID as the server writes them.
func isUUID(s string) bool {
	_, err := uuid.Parse(s)
	return err == nil && len(s) == 36
}

// dashed is the name of a kind, which requests may also spell with underscores.
func dashed(name string) string { return strings.ReplaceAll(name, "_", "-") }
