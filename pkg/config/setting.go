package config

import (
	"cmp"
	"strings"
)

// Kind is the kind of value that a setting takes.
type Kind uint8

// The kinds of values. A List is written as a sequence or separated by commas.
const (
	Text Kind = iota
	List
	Bool
	Number
	Duration
)

// String is the kind's name in help and documentation.
func (k Kind) String() string {
	switch k {
	case List:
		return "list"
	case Bool:
		return "bool"
	case Number:
		return "number"
	case Duration:
		return "duration"
	case Text:
		return "string"
	default:
		return "unknown"
	}
}

// Setting is one thing that can be configured.
type Setting struct {
	Key     string // in the file, and the flag without its dashes
	Kind    Kind
	Default string
	Expect  string   // the values that are good, in words; "" is any
	Choices []string // the values that are good, where they can be listed
	Usage   string   // what it does, in one sentence without a full stop

	flag  string // "" is Key
	parse func(c *Config, text string) bool
	show  func(c *Config) any
}

// Env is the environment variable of the setting.
func (s *Setting) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(s.Key, "-", "_"))
}

// Flag is the flag of the setting, with its dashes.
func (s *Setting) Flag() string { return "--" + s.flagName() }

func (s *Setting) flagName() string { return cmp.Or(s.flag, s.Key) }

const envPrefix = "NETLOOM_"

// The setting that is not part of a Config: where the file is.
const (
	fileKey = "config"
	fileEnv = envPrefix + "CONFIG"
)

// expected is what to write instead of a bad value.
func (s *Setting) expected() string {
	if s.Expect == "" {
		return "one of " + strings.Join(s.Choices, ", ")
	}
	return s.Expect
}
