package config

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Warnings lists the deprecated names and settings that were given, a sentence without a full stop for each.
func (c *Config) Warnings() []string { return c.warnings }

// spelling is a name of a setting: as a flag, as a variable and in the file.
type spelling struct {
	flag, env, key string
	removed        string // the release that will no longer accept it; "" for none
}

// spellings lists the names of a setting, the current one first.
func spellings(s *setting.Setting) []spelling {
	list := []spelling{{s.FlagName(), s.Env(), s.Key, s.Removed}}
	for _, f := range s.Former {
		list = append(list, spelling{f.Key, f.Env(), f.Key, f.Removed})
	}
	return list
}

// find returns the value that a kind of origin has under the name, and an Origin of another kind if it has none.
func (n *spelling) find(kind OriginKind, flags *pflag.FlagSet, env func(string) (string, bool), file settingsFile) (string, Origin) {
	switch kind {
	case FromFlag:
		if f := flags.Lookup(n.flag); f != nil && f.Changed {
			return f.Value.String(), Origin{FromFlag, "--" + n.flag}
		}
	case FromEnv:
		if v, ok := env(n.env); ok {
			return v, Origin{FromEnv, n.env}
		}
	case FromFile:
		if v, ok := file.values[n.key]; ok {
			return v, Origin{FromFile, file.path}
		}
	case FromDefault:
	}
	return "", Origin{}
}

// warningsOf warns about deprecated names of a setting that were given, also if another origin decides.
func warningsOf(s *setting.Setting, flags *pflag.FlagSet, env func(string) (string, bool), file settingsFile) []string {
	var warnings []string
	for _, name := range spellings(s) {
		for _, kind := range []OriginKind{FromFlag, FromEnv, FromFile} {
			_, from := name.find(kind, flags, env, file)
			switch {
			case name.removed == "" || from.Kind != kind:
			case s.Removed != "":
				warnings = append(warnings, fmt.Sprintf("%s (%s) has no effect any more and will be an error in %s: %s", name.key, from, name.removed, s.Usage))
			default:
				warnings = append(warnings, fmt.Sprintf("%s (%s) is deprecated and will be an error in %s: use %s", name.key, from, name.removed, s.Key))
			}
		}
	}
	return warnings
}
