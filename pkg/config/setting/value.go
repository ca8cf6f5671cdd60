package setting

import (
	"math"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Text accepts anything.
func Text(key, def, usage string, value *string) Setting {
	return Setting{
		Key: key, Default: def, Usage: usage,
		Set:  func(v string) bool { *value = v; return true },
		Show: func() any { return *value },
	}
}

// Retired accepts anything, and has no effect: a setting of earlier releases, until a release. Advice is what to do instead, as in
// "address families are detected".
func Retired(key string, kind Kind, removed, advice string) Setting {
	return Setting{
		Key: key, Kind: kind, Expect: "anything", Usage: advice, Removed: removed,
		Set:  func(string) bool { return true },
		Show: func() any { return nil },
	}
}

// Matching accepts text that matches pattern. Expect describes it. The pattern is compiled when the first value is checked: a command
// has many settings, of which few are given.
func Matching(key, def, usage, expect, pattern string, value *string) Setting {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return checked(Text(key, def, usage, value), expect, func(v string) bool { return compiled().MatchString(v) })
}

// Parsed accepts what check accepts, and the default. Expect describes it.
func Parsed(key, def, usage, expect string, check func(string) error, value *string) Setting {
	return checked(Text(key, def, usage, value), expect, func(v string) bool { return v == def || check(v) == nil })
}

// checked is a text setting with a validity check.
func checked(s Setting, expect string, valid func(string) bool) Setting {
	set := s.Set
	s.Expect = expect
	s.Set = func(v string) bool { return set(v) && valid(v) }
	return s
}

// Choice accepts one of several values.
func Choice[T ~string](key, def, usage string, values []T, value *T) Setting {
	s := Setting{
		Key: key, Default: def, Usage: usage,
		Set:  func(v string) bool { *value = T(v); return slices.Contains(values, T(v)) },
		Show: func() any { return string(*value) },
	}
	for _, v := range values {
		s.Choices = append(s.Choices, string(v))
	}
	return s
}

// Bool accepts true and false.
func Bool(key, def, usage string, value *bool) Setting {
	return Setting{
		Key: key, Kind: KindBool, Default: def, Usage: usage, Expect: "true or false",
		Set: func(v string) bool {
			b, err := strconv.ParseBool(v)
			*value = b
			return err == nil
		},
		Show: func() any { return *value },
	}
}

// Interval accepts a duration of at least least.
func Interval(key, def string, least time.Duration, usage string, value *time.Duration) Setting {
	expect := "a duration such as 500ms or 2m"
	switch {
	case least > 1:
		expect += ", at least " + least.String()
	case least > 0:
		expect += ", greater than 0"
	}
	return Setting{
		Key: key, Kind: KindDuration, Default: def, Usage: usage, Expect: expect,
		Set: func(v string) bool {
			d, err := time.ParseDuration(v)
			*value = d
			return err == nil && d >= least
		},
		Show: func() any { return value.String() },
	}
}

// WholeSeconds accepts a duration of one second or several.
func WholeSeconds(key, def, usage string, value *time.Duration) Setting {
	s := Interval(key, def, time.Second, usage, value)
	return checked(s, "a duration in whole seconds greater than 0, such as 15s or 1m", func(string) bool { return *value%time.Second == 0 })
}

// Fraction accepts a number from 0 to 1.
func Fraction(key, def, usage string, value *float64) Setting {
	return Setting{
		Key: key, Kind: KindNumber, Default: def, Usage: usage, Expect: "a number from 0 to 1",
		Set: func(v string) bool {
			f, err := strconv.ParseFloat(v, 64)
			*value = f
			return err == nil && f >= 0 && f <= 1
		},
		Show: func() any { return *value },
	}
}

// Whole accepts a whole number from 0 to 2³¹-1.
func Whole[T int | uint32](key, def, usage string, value *T) Setting {
	return Setting{
		Key: key, Kind: KindNumber, Default: def, Usage: usage, Expect: "a whole number, 0 or greater",
		Set: func(v string) bool {
			n, err := strconv.ParseUint(v, 10, 31)
			*value = T(n)
			return err == nil
		},
		Show: func() any { return *value },
	}
}

// Size accepts a number of bytes, at least 1. If the default is "", that is accepted too, as 0.
func Size(key, def, usage string, value *int64) Setting {
	units := []struct {
		suffix string
		bytes  int64
	}{{"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}, {"", 1}}
	return Setting{
		Key: key, Default: def, Usage: usage, Expect: "a size greater than 0 in bytes, Ki, Mi or Gi, such as 64Mi",
		Set: func(v string) bool {
			for _, u := range units {
				if v == "" && def == "" {
					*value = 0
					return true
				}
				if digits, ok := strings.CutSuffix(v, u.suffix); ok {
					n, err := strconv.ParseInt(digits, 10, 64)
					*value = n * u.bytes
					return err == nil && n > 0 && n <= math.MaxInt64/u.bytes
				}
			}
			return false
		},
		Show: func() any {
			for _, u := range units {
				if n := *value; n != 0 && n%u.bytes == 0 {
					return strconv.FormatInt(n/u.bytes, 10) + u.suffix
				}
			}
			return ""
		},
	}
}

// Listen accepts the address of a listener.
func Listen(key, def, usage string, value *string) Setting {
	return checked(Text(key, def, usage, value), "[HOST]:PORT, or nothing", func(v string) bool { return v == "" || IsAddress(v) })
}

// Address accepts the address of a listener that is always there.
func Address(key, def, usage string, value *string) Setting {
	return checked(Text(key, def, usage, value), "[HOST]:PORT", IsAddress)
}

// IsAddress reports whether v is [HOST]:PORT.
func IsAddress(v string) bool {
	_, port, err := net.SplitHostPort(v)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}

// List accepts valid values separated by commas, or nothing. Expect describes them.
func List(key, def, usage, expect string, valid func(string) bool, value *[]string) Setting {
	return Setting{
		Key: key, Kind: KindList, Default: def, Usage: usage, Expect: expect,
		Set: func(v string) bool {
			*value = nil
			if v == "" {
				return true
			}
			for part := range strings.SplitSeq(v, ",") {
				*value = append(*value, strings.TrimSpace(part))
			}
			return !slices.ContainsFunc(*value, func(part string) bool { return !valid(part) })
		},
		Show: func() any { return *value },
	}
}

// Names accepts any texts but the empty one.
func Names(key, def, usage string, value *[]string) Setting {
	return List(key, def, usage, "names, separated by commas", func(name string) bool { return name != "" }, value)
}

// Hosts accepts host names, and suffixes of them as *.SUFFIX.
func Hosts(key, def, usage string, value *[]string) Setting {
	valid := regexp.MustCompile(`^(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`)
	return List(key, def, usage, "names or *.SUFFIX, separated by commas, or nothing", valid.MatchString, value)
}
