package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Fault is one thing that is wrong with the configuration.
type Fault struct {
	Key    string
	From   Origin
	Reason string
}

// Error names the key, where its value came from and what is wrong with it.
func (f *Fault) Error() string { return fmt.Sprintf("%s (%s): %s", f.Key, f.From, f.Reason) }

// Bind gives flags every setting, and --config. Values are looked at by Load, so that it can report all faults at once.
func Bind(flags *pflag.FlagSet) { bind(flags, Settings()) }

func bind(flags *pflag.FlagSet, settings []Setting) {
	flags.String(fileKey, "", "YAML file with settings; its keys are the flags of netloom run without dashes")
	for _, s := range settings {
		f := flags.VarPF(&rawFlag{kind: s.Kind, text: s.Default}, s.flagName(), "", s.Usage)
		if s.Kind == Bool {
			f.NoOptDefVal = "true"
		}
	}
}

// rawFlag is a flag that takes any text. A list that is given several times comes together.
type rawFlag struct {
	kind  Kind
	text  string
	given bool
}

// String is the text given, or the default.
func (f *rawFlag) String() string { return f.text }

// Type names the kind of value in help.
func (f *rawFlag) Type() string { return f.kind.String() }

// Set takes the text.
func (f *rawFlag) Set(text string) error {
	if f.kind == List && f.given {
		text = f.text + "," + text
	}
	f.text, f.given = text, true
	return nil
}

// Load reads the settings from flags that Bind was given, the environment and the file that either of them names. On
// error there is no Config, and the error joins every Fault.
func Load(
	flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error),
) (*Config, error) {
	return load(Settings(), flags, env, readFile, (*Config).contradictions)
}

// load is Load of some settings.
func load(
	settings []Setting, flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error),
	contradictions func(*Config, map[string]bool) []error,
) (*Config, error) {
	c := &Config{origins: map[string]Origin{}}
	file := readSettings(flags, env, readFile)
	var faults []error
	bad := map[string]bool{}
	for _, s := range settings {
		value, from := s.find(flags, env, file)
		c.origins[s.Key] = from
		if from.Kind == FromDefault && value == "" {
			continue
		}
		if !s.parse(c, value) {
			bad[s.Key] = true
			faults = append(faults, &Fault{s.Key, from, fmt.Sprintf("%q: expected %s", value, s.expected())})
		}
	}
	for _, f := range file.faults {
		bad[f.Key] = true
		faults = append(faults, f)
	}
	if !bad[fileKey] { // what is missing may stand in the file
		faults = append(faults, contradictions(c, bad)...)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return c, nil
}

// readSettings finds out which file to read, and reads it.
func readSettings(
	flags *pflag.FlagSet, env func(string) (string, bool), readFile func(string) ([]byte, error),
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
	return parseFile(path, content)
}

// find takes the value of a setting from the strongest place that has one.
func (s *Setting) find(
	flags *pflag.FlagSet, env func(string) (string, bool), file settingsFile,
) (string, Origin) {
	if f := flags.Lookup(s.flagName()); f != nil && f.Changed {
		return f.Value.String(), Origin{FromFlag, s.Flag()}
	}
	if v, ok := env(s.Env()); ok {
		return v, Origin{FromEnv, s.Env()}
	}
	if v, ok := file.values[s.Key]; ok {
		return v, Origin{FromFile, file.path}
	}
	return s.Default, Origin{}
}

// contradictions looks for settings that are good alone and not together. It leaves out those that are bad alone.
func (c *Config) contradictions(bad map[string]bool) []error {
	var faults []error
	fault := func(key, reason string) {
		if !bad[key] {
			faults = append(faults, &Fault{key, c.origins[key], reason})
		}
	}
	if len(c.OVN.Northbound) == 0 && !c.SDWAN.Enabled {
		fault("ovn-nb", "expected the address of the Northbound database")
	}
	c.zoneContradictions(bad, fault)
	c.feedbackContradictions(bad, fault)
	if c.SDWAN.ServicePurpose != "" && c.SDWAN.ServiceRules != ServiceRulesAll {
		fault("sdewan-service-purpose", "needs sdewan-service-rules all")
	}
	if (c.OVN.Cert == "") != (c.OVN.Key == "") {
		if c.OVN.Cert == "" {
			fault("ovn-key", "needs ovn-cert")
		} else {
			fault("ovn-cert", "needs ovn-key")
		}
	}
	for _, e := range c.OVN.Northbound {
		if strings.HasPrefix(e, "ssl:") && c.OVN.CACert == "" {
			fault("ovn-nb", "ssl endpoints need ovn-ca-cert")
			break
		}
	}
	if !bad["retry-min"] && c.RetryMax < c.RetryMin {
		fault("retry-max", fmt.Sprintf("%s is less than retry-min (%s), %s", c.RetryMax, c.origins["retry-min"], c.RetryMin))
	}
	c.leaderContradictions(bad, fault)
	c.servingContradictions(bad, fault)
	return slices.Concat(faults, c.kubeContradictions(bad), c.webhookContradictions(bad))
}

// kubeContradictions looks at what says which cluster it is.
func (c *Config) kubeContradictions(bad map[string]bool) []error {
	var faults []error
	for _, key := range []string{"kubeconfig", "kube-context"} {
		switch {
		case bad[key]:
		case c.Manifests != "" && c.origins[key].Kind != FromDefault:
			faults = append(faults, &Fault{key, c.origins[key], "cannot be combined with manifests (" + c.origins["manifests"].String() + ")"})
		case c.Manifests == "" && key == "kube-context" && c.KubeContext != "" && c.Kubeconfig == "":
			faults = append(faults, &Fault{key, c.origins[key], "needs kubeconfig"})
		}
	}
	return faults
}
