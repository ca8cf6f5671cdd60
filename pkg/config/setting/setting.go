package setting

import (
	"cmp"
	"strings"
)

// Kind is the type of a setting's value.
type Kind uint8

// The kinds of values. A List is written as a sequence or separated by commas.
const (
	KindText Kind = iota
	KindList
	KindBool
	KindNumber
	KindDuration
)

// String is the kind's name in help and documentation.
func (k Kind) String() string {
	switch k {
	case KindList:
		return "list"
	case KindBool:
		return "bool"
	case KindNumber:
		return "number"
	case KindDuration:
		return "duration"
	case KindText:
		return "string"
	default:
		return "unknown"
	}
}

// Setting is one thing that can be configured, and the variable for its value.
type Setting struct {
	Key     string // in the file
	Name    string // of the flag, without its dashes; "" is Key
	Kind    Kind
	Default string   // as Set takes it; "" leaves the variable as it is
	Expect  string   // the valid values, in words; "" is Choices
	Choices []string // the valid values, if there are few
	Usage   string   // what it does, in one sentence without a full stop
	// Former are the names of earlier releases that still work, with a warning.
	Former []Former
	// Removed is the release that will no longer accept the setting, which has no effect any more; "" for one that has. Usage says what
	// to do instead.
	Removed string

	// Set parses a value into the variable, and reports whether it is valid.
	Set func(text string) bool
	// Show returns the value of the variable, as in YAML.
	Show func() any
}

// EnvPrefix is the prefix of every environment variable.
const EnvPrefix = "NETLOOM_"

// Env is the environment variable of the setting.
func (s *Setting) Env() string { return env(s.Key) }

// FlagName is the name of the setting's flag, without its dashes.
func (s *Setting) FlagName() string { return cmp.Or(s.Name, s.Key) }

// Flag is the flag of the setting, with its dashes.
func (s *Setting) Flag() string { return "--" + s.FlagName() }

// Expected describes what to write instead of an invalid value.
func (s *Setting) Expected() string {
	if s.Expect == "" {
		return "one of " + strings.Join(s.Choices, ", ")
	}
	return s.Expect
}

// Former is an earlier name of a setting.
type Former struct {
	Key     string // in the file, and the flag without its dashes
	Removed string // the release that will no longer accept it, such as v0.3.0: two after the one that renamed the setting
}

// Env is the environment variable of the earlier name.
func (f Former) Env() string { return env(f.Key) }

func env(key string) string { return EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, "-", "_")) }

// Group is the settings of one owner.
type Group struct {
	Settings []Setting
	// Conflicts reports, by the key of a setting, values that are valid alone but not together; nil never does.
	Conflicts func(report func(key, reason string))
	// Required describes the setting without which a backend has no target, as in "expected the address of the database"; its
	// key is that of the first setting. "" if the group belongs to no backend.
	Required string
	// Configured reports whether the values ask for a target of the backend; nil if the group belongs to none.
	Configured func() bool
	// Shared means that all nodes of a cluster have the same target, which the instances for single nodes cannot share.
	Shared bool
}
