package openwrt

import "fmt"

// longestZone is the maximum length of a zone's name on the device.
const longestZone = 11

// NameError means that a device cannot store, or cannot be asked for, an object of a name.
type NameError struct {
	Kind Kind
	Name string
	Why  string
}

// Error formats e.
func (e *NameError) Error() string { return fmt.Sprintf("%s: name %q: %s", e.Kind, e.Name, e.Why) }

// CheckName checks whether the device can store an object of kind k under name unchanged. The error is a *NameError. The
// device itself does not reject most such names: it reports success and stores nothing.
func CheckName(k Kind, name string) error {
	if err := addressable(k, name); err != nil {
		return err
	}
	if k == Zones && len(name) > longestZone {
		return &NameError{k, name, "longer than 11 characters"}
	}
	if k.Named() && !isSectionName(name) {
		return &NameError{k, name, "expected only letters, digits and underscores"}
	}
	return nil
}

// CheckConnection is CheckName for a connection of a remote. Connections share the namespace of their module.
func CheckConnection(name string) error {
	if !isSectionName(name) {
		return &NameError{Remotes, name, "the name of a connection may contain only letters, digits and underscores"}
	}
	return nil
}

// addressable checks whether a name can be part of an address. The device decodes nothing in an address.
func addressable(k Kind, name string) error {
	if name == "" {
		return &NameError{k, name, "empty"}
	}
	if name == "." || name == ".." {
		return &NameError{k, name, "not allowed in a URL"}
	}
	for _, c := range []byte(name) {
		if !isWord(c) && c != '-' && c != '.' && c != '~' {
			return &NameError{k, name, "not allowed in a URL"}
		}
	}
	return nil
}

func isSectionName(name string) bool {
	for _, c := range []byte(name) {
		if !isWord(c) {
			return false
		}
	}
	return name != ""
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
