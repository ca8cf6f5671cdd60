package config

import (
	"errors"
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/netloom/netloom/backends/ovn"
	"github.com/netloom/netloom/pkg/intent"
)

type duration = time.Duration

func text(key, def, usage string, field func(*Config) *string) Setting {
	return Setting{
		Key: key, Default: def, Usage: usage,
		parse: func(c *Config, v string) bool { *field(c) = v; return true },
		show:  func(c *Config) any { return *field(c) },
	}
}

func matching(key, def, usage, expect, pattern string, field func(*Config) *string) Setting {
	s := text(key, def, usage, field)
	re := regexp.MustCompile(pattern)
	s.Expect = expect
	s.parse = func(c *Config, v string) bool { *field(c) = v; return re.MatchString(v) }
	return s
}

func choice[T ~string](key, def, usage string, values []T, field func(*Config) *T) Setting {
	s := Setting{
		Key: key, Default: def, Usage: usage,
		parse: func(c *Config, v string) bool { *field(c) = T(v); return slices.Contains(values, T(v)) },
		show:  func(c *Config) any { return string(*field(c)) },
	}
	for _, v := range values {
		s.Choices = append(s.Choices, string(v))
	}
	return s
}

func flag(key, def, usage string, field func(*Config) *bool) Setting {
	return Setting{
		Key: key, Kind: Bool, Default: def, Usage: usage, Expect: "true or false",
		parse: func(c *Config, v string) bool {
			b, err := strconv.ParseBool(v)
			*field(c) = b
			return err == nil
		},
		show: func(c *Config) any { return *field(c) },
	}
}

func interval(key, def string, least time.Duration, usage string, field func(*Config) *duration) Setting {
	expect := "a duration such as 500ms or 2m"
	if least > 0 {
		expect += ", greater than 0"
	}
	return Setting{
		Key: key, Kind: Duration, Default: def, Usage: usage, Expect: expect,
		parse: func(c *Config, v string) bool {
			d, err := time.ParseDuration(v)
			*field(c) = d
			return err == nil && d >= least
		},
		show: func(c *Config) any { return field(c).String() },
	}
}

func fraction(key, def, usage string, field func(*Config) *float64) Setting {
	return Setting{
		Key: key, Kind: Number, Default: def, Usage: usage, Expect: "a number from 0 to 1",
		parse: func(c *Config, v string) bool {
			f, err := strconv.ParseFloat(v, 64)
			*field(c) = f
			return err == nil && f >= 0 && f <= 1
		},
		show: func(c *Config) any { return *field(c) },
	}
}

func rate(key, def, usage string, field func(*Config) *uint32) Setting {
	return Setting{
		Key: key, Kind: Number, Default: def, Usage: usage, Expect: "a whole number, 0 or greater",
		parse: func(c *Config, v string) bool {
			n, err := strconv.ParseUint(v, 10, 32)
			*field(c) = uint32(n)
			return err == nil
		},
		show: func(c *Config) any { return *field(c) },
	}
}

// size is a number of bytes, at least 1.
func size(key, def, usage string, field func(*Config) *int64) Setting {
	units := []struct {
		suffix string
		bytes  int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}, {"", 1}}
	return Setting{
		Key: key, Default: def, Usage: usage, Expect: "a size greater than 0 in bytes, Ki, Mi or Gi, such as 64Mi",
		parse: func(c *Config, v string) bool {
			for _, u := range units {
				if digits, ok := strings.CutSuffix(v, u.suffix); ok {
					n, err := strconv.ParseInt(digits, 10, 64)
					*field(c) = n * u.bytes
					return err == nil && n > 0 && n <= math.MaxInt64/u.bytes
				}
			}
			return false
		},
		show: func(c *Config) any {
			for _, u := range units {
				if n := *field(c); n%u.bytes == 0 {
					return strconv.FormatInt(n/u.bytes, 10) + u.suffix
				}
			}
			return ""
		},
	}
}

func listen(key, def, usage string, field func(*Config) *string) Setting {
	s := text(key, def, usage, field)
	s.Expect = "[HOST]:PORT, or nothing"
	s.parse = func(c *Config, v string) bool {
		*field(c) = v
		return v == "" || isAddress(v)
	}
	return s
}

// hosts is a list of host names, or of suffixes as *.SUFFIX.
func hosts(key, def, usage string, field func(*Config) *[]string) Setting {
	valid := regexp.MustCompile(`^(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`)
	return Setting{
		Key: key, Kind: List, Default: def, Usage: usage, Expect: "names or *.SUFFIX, separated by commas, or nothing",
		parse: func(c *Config, v string) bool {
			*field(c) = nil
			for part := range strings.SplitSeq(v, ",") {
				if part = strings.TrimSpace(part); part != "" {
					*field(c) = append(*field(c), part)
				}
			}
			return !slices.ContainsFunc(*field(c), func(name string) bool { return !valid.MatchString(name) })
		},
		show: func(c *Config) any { return *field(c) },
	}
}

// isAddress says whether v is [HOST]:PORT.
func isAddress(v string) bool {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

func logLevel(key, def, usage string) Setting {
	s := Setting{Key: key, Default: def, Usage: usage, Choices: []string{"error", "warning", "info", "debug", "trace"}}
	s.parse = func(c *Config, v string) bool {
		level, err := logrus.ParseLevel(v)
		c.LogLevel = level
		return err == nil && slices.Contains(s.Choices, v)
	}
	s.show = func(c *Config) any { return c.LogLevel.String() }
	return s
}

func families(key, usage string) Setting {
	names := []string{"auto", "ipv4", "ipv6", "dual"} // in the order of intent.Families
	return Setting{
		Key: key, Default: names[0], Usage: usage, Choices: names,
		parse: func(c *Config, v string) bool {
			i := slices.Index(names, v)
			c.Families = intent.Families(max(i, 0)) //nolint:gosec // an index of four names
			return i >= 0
		},
		show: func(c *Config) any { return names[int(c.Families)%len(names)] },
	}
}

func portNames(key, usage string) Setting {
	s := text(key, ovn.DefaultPortNames, usage, func(c *Config) *string { return &c.OVN.PortNames })
	s.Expect = "ovn-kubernetes, kube-ovn, nodus, a template such as {namespace}_{pod}, or external-ids:KEY[=TEMPLATE]"
	s.parse = func(c *Config, v string) bool {
		c.OVN.PortNames = v
		_, err := ovn.ParsePortNames(v)
		return err == nil
	}
	return s
}

// lbHosts says what names switches and routers.
const lbHosts = "names with or without *, external_ids:KEY=VALUE, !PATTERN, NETWORK=PATTERN, separated by commas"

// parsed is a text that somebody else takes apart. Nothing is the default of whoever does.
func parsed(key, def, usage, expect string, check func(string) error, field func(*Config) *string) Setting {
	s := text(key, def, usage, field)
	s.Expect = expect
	s.parse = func(c *Config, v string) bool {
		*field(c) = v
		return v == "" && def == "" || check(v) == nil
	}
	return s
}

func checkSelection(v string) error {
	if v == "" {
		return errors.New("empty")
	}
	_, err := ovn.ParseSelection(v)
	return err
}

func checkHairpin(v string) error {
	_, err := ovn.ParseHairpin(v)
	return err
}

func endpoints(key, usage string) Setting {
	return Setting{
		Key: key, Kind: List, Usage: usage,
		Expect: "unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT, separated by commas, or " + Embedded,
		parse: func(c *Config, v string) bool {
			c.OVN.Northbound = nil
			for part := range strings.SplitSeq(v, ",") {
				c.OVN.Northbound = append(c.OVN.Northbound, strings.TrimSpace(part))
			}
			return c.OVN.Embedded() || !slices.ContainsFunc(c.OVN.Northbound, func(e string) bool { return !isEndpoint(e) })
		},
		show: func(c *Config) any { return c.OVN.Northbound },
	}
}

// isEndpoint says whether v has the form of an OVSDB endpoint. Whoever dials looks closer.
func isEndpoint(v string) bool {
	scheme, rest, _ := strings.Cut(v, ":")
	switch scheme {
	case "unix":
		return rest != ""
	case "tcp", "ssl":
		return !strings.HasPrefix(rest, ":") && isAddress(rest)
	default:
		return false
	}
}
