package section

import "github.com/netloom/netloom/pkg/openwrt"

// The device reads a whole package of its configuration as one message, which has a limit: beyond it a daemon of the device dies
// at each read, lists arrive empty after half a minute, and nothing else works until it is back.

const (
	// MostBytes is the size that a package may get, as SizeOf estimates it: the limit is 1 MiB.
	MostBytes = 880 << 10
	// DenyBytes of it are only for what denies: the rest would be open without it.
	DenyBytes = MostBytes / 10
	// MostSections is how many sections a package may get, however small they are.
	MostSections = 2300
)

// Measure is the size of a package, or of one object.
type Measure struct{ Bytes, Sections int }

// Plus returns the size of both together.
func (m Measure) Plus(o Measure) Measure { return Measure{m.Bytes + o.Bytes, m.Sections + o.Sections} }

// Minus returns the size without o.
func (m Measure) Minus(o Measure) Measure { return Measure{m.Bytes - o.Bytes, m.Sections - o.Sections} }

// SizeOf estimates what an object adds to the message, from above: the sections that it becomes, with what the device adds to
// each.
func SizeOf(o openwrt.Object) Measure {
	const section, option = 112, 12
	m := Measure{Bytes: section, Sections: 1}
	for name, v := range o {
		m.Bytes += option + len(name)
		switch v := v.(type) {
		case string:
			m.Bytes += len(v)
		case openwrt.Secret:
			m.Bytes += len(v)
		case openwrt.Digest: // paths of files
			m.Bytes += 4 * (len("/etc/ipsec.d/private/_private_99.pem, ") + len(o.Name()))
		case []string:
			for _, s := range v {
				m.Bytes += option + len(s)
			}
		case []openwrt.Object:
			for _, inner := range v {
				m = m.Plus(SizeOf(inner))
				m.Bytes += 2 * (option + len(o.Name()) + len(inner.Name()))
			}
		}
	}
	return m
}
