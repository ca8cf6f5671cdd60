package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/netloom/netloom/pkg/config/setting"
)

// Fault is one error in the configuration.
type Fault struct {
	Key    string
	From   Origin
	Reason string
}

// Error names the key, where its value came from and what is wrong with it.
func (f *Fault) Error() string { return fmt.Sprintf("%s (%s): %s", f.Key, f.From, f.Reason) }

// The setting that is not part of a Config: the path of the file.
const (
	fileKey = "config"
	fileEnv = setting.EnvPrefix + "CONFIG"
)

// Bind adds a flag for every setting to flags, and --config. Load parses the values, so that it can report all errors at
// once.
func Bind(flags *pflag.FlagSet, backends ...setting.Group) { bind(flags, Settings(backends...)) }

func bind(flags *pflag.FlagSet, settings []setting.Setting) {
	flags.String(fileKey, "", "YAML file with settings; docs/config.md lists its keys")
	for _, s := range settings {
		for i, name := range spellings(&s) {
			f := flags.VarPF(&rawFlag{kind: s.Kind, text: s.Default}, name.flag, "", s.Usage)
			f.Hidden = i > 0 || s.Removed != ""
			if s.Kind == setting.KindBool {
				f.NoOptDefVal = "true"
			}
		}
	}
}

// rawFlag is a flag that accepts any text. The values of a list that is given several times are joined.
type rawFlag struct {
	kind  setting.Kind
	text  string
	given bool
}

// String is the text given, or the default.
func (f *rawFlag) String() string { return f.text }

// Type names the kind of value in help.
func (f *rawFlag) Type() string { return f.kind.String() }

// Set stores the text.
func (f *rawFlag) Set(text string) error {
	if f.kind == setting.KindList && f.given {
		text = f.text + "," + text
	}
	f.text, f.given = text, true
	return nil
}

// Load reads the settings from flags prepared by Bind, the environment and the file that either of them names; those of
// backends are stored in the variables of their groups. On error there is no Config, the values of the groups must not be
// used, and the error joins every Fault.
func Load(
	flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error), backends ...setting.Group,
) (*Config, error) {
	c := &Config{}
	all := c.settings(backends)
	err := c.load(all, known(backends), flags, env, readFile, func(bad map[string]bool) []error {
		return c.contradictions(bad, backends)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// load is Load of some settings, which are bound to c. A file may have all known settings.
func (c *Config) load(
	settings, known []setting.Setting, flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error),
	contradictions func(bad map[string]bool) []error,
) error {
	c.all, c.origins = settings, map[string]Origin{}
	file := readSettings(known, flags, env, readFile)
	var faults []error
	bad := map[string]bool{}
	for _, s := range settings {
		value, from := find(&s, flags, env, file)
		c.origins[s.Key] = from
		c.warnings = append(c.warnings, warningsOf(&s, flags, env, file)...)
		if from.Kind == FromDefault && value == "" {
			continue
		}
		if !s.Set(value) {
			bad[s.Key] = true
			faults = append(faults, &Fault{s.Key, from, fmt.Sprintf("%q: expected %s", value, s.Expected())})
		}
	}
	for _, f := range file.faults {
		bad[f.Key] = true
		faults = append(faults, f)
	}
	if !bad[fileKey] { // missing values may be in the file
		faults = append(faults, contradictions(bad)...)
	}
	return errors.Join(faults...)
}

// readSettings finds the path of the file, and reads it.
func readSettings(
	known []setting.Setting, flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error),
) settingsFile {
	path, from := "", Origin{FromFlag, "--" + fileKey}
	if f := flags.Lookup(fileKey); f != nil && f.Changed {
		path = f.Value.String()
	} else if v, ok := env(fileEnv); ok {
		path, from = v, Origin{FromEnv, fileEnv}
	}
	if path == "" {
		return settingsFile{}
	}
	content, err := readFile(path)
	if err != nil {
		return settingsFile{faults: []*Fault{{fileKey, from, err.Error()}}}
	}
	return parseFile(path, content, known)
}

// find returns the value of a setting with the highest precedence.
func find(
	s *setting.Setting, flags *pflag.FlagSet, env func(string) (string, bool), file settingsFile,
) (string, Origin) {
	for _, kind := range []OriginKind{FromFlag, FromEnv, FromFile} {
		for _, name := range spellings(s) {
			if value, from := name.find(kind, flags, env, file); from.Kind == kind {
				return value, from
			}
		}
	}
	return s.Default, Origin{}
}

// contradictions finds settings that are valid alone but not together. It skips those that are invalid alone.
func (c *Config) contradictions(bad map[string]bool, backends []setting.Group) []error {
	var faults []error
	fault := func(key, reason string) {
		if !bad[key] {
			faults = append(faults, &Fault{key, c.origins[key], reason})
		}
	}
	c.backendContradictions(backends, fault)
	c.zoneContradictions(bad, backends, fault)
	c.feedbackContradictions(bad, fault)
	if len(c.ACLLogs) > 0 && c.UIListen == "" && c.ZoneNode == "" {
		fault("acl-log", "needs ui-listen: nothing else shows what is in the log")
	}
	if c.SDWAN.ServicePurpose != "" && c.SDWAN.ServiceRules != ServiceRulesAll {
		fault("sdewan-service-purpose", "needs sdewan-service-rules all")
	}
	if !bad["retry-min"] && c.RetryMax < c.RetryMin {
		fault("retry-max", fmt.Sprintf("%s is less than retry-min (%s), %s", c.RetryMax, c.origins["retry-min"], c.RetryMin))
	}
	c.peerContradictions(bad, fault)
	c.leaderContradictions(bad, fault)
	c.servingContradictions(bad, fault)
	return slices.Concat(faults, c.kubeContradictions(bad), c.webhookContradictions(bad))
}

// backendContradictions checks each backend, and requires one with a target.
func (c *Config) backendContradictions(backends []setting.Group, fault func(key, reason string)) {
	target := c.SDWAN.Enabled
	for _, group := range backends {
		target = target || group.Configured != nil && group.Configured()
		if group.Conflicts != nil {
			group.Conflicts(fault)
		}
	}
	for _, group := range backends {
		if !target && group.Required != "" {
			fault(group.Settings[0].Key, group.Required)
		}
	}
}

// kubeContradictions checks the settings that select the cluster.
func (c *Config) kubeContradictions(bad map[string]bool) []error {
	var faults []error
	for _, key := range []string{"kubeconfig", "kube-context", "upstream-cluster"} {
		switch {
		case bad[key]:
		case key != "upstream-cluster" && c.UpstreamCluster != "" && c.origins[key].Kind != FromDefault:
			faults = append(faults, &Fault{key, c.origins[key], "cannot be combined with upstream-cluster (" + c.origins["upstream-cluster"].String() + ")"})
		case c.Manifests != "" && c.origins[key].Kind != FromDefault:
			faults = append(faults, &Fault{key, c.origins[key], "cannot be combined with manifests (" + c.origins["manifests"].String() + ")"})
		case c.Manifests == "" && key == "kube-context" && c.KubeContext != "" && c.Kubeconfig == "":
			faults = append(faults, &Fault{key, c.origins[key], "needs kubeconfig"})
		}
	}
	return faults
}
