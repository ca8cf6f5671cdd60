package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/netloom/netloom/pkg/config/setting"
)

// settingsFile is the content of a configuration file. The zero value is empty.
type settingsFile struct {
	path   string
	values map[string]string // by key, in the format of a flag
	faults []*Fault
}

// parseFile reads the keys and values of a YAML or JSON file.
func parseFile(path string, content []byte, known []setting.Setting) settingsFile {
	f := settingsFile{path: path, values: map[string]string{}}
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err != nil {
		f.fault(fileKey, strings.Join(strings.Fields(err.Error()), " "))
		return f
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(asJSON, &raw); err != nil {
		f.fault(fileKey, "expected settings, each KEY: VALUE")
		return f
	}
	settings := map[string]setting.Setting{}
	for _, s := range known {
		for _, name := range spellings(&s) {
			settings[name.key] = s
		}
	}
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		s, ok := settings[key]
		switch {
		case !ok:
			f.fault(key, "unknown setting"+suggest(key, settings))
		case string(raw[key]) != "null": // a key without a value is ignored
			if value, ok := unquote(s.Kind, raw[key]); ok {
				f.values[key] = value
			} else {
				f.fault(key, fmt.Sprintf("%s: expected a %s: %s", raw[key], s.Kind, s.Expected()))
			}
		}
	}
	return f
}

func (f *settingsFile) fault(key, reason string) {
	f.faults = append(f.faults, &Fault{key, Origin{FromFile, f.path}, reason})
}

// unquote turns a JSON value of a kind into the text for a flag. ok is false if the value is of another kind: a YAML
// number is not accepted as a name.
func unquote(k setting.Kind, raw json.RawMessage) (string, bool) {
	if k == setting.KindList {
		var items []string
		if json.Unmarshal(raw, &items) == nil {
			return strings.Join(items, ","), true
		}
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return "", false
	}
	switch v := v.(type) {
	case string:
		return v, k == setting.KindText || k == setting.KindList || k == setting.KindDuration
	case bool:
		return string(raw), k == setting.KindBool
	case float64:
		return string(raw), k == setting.KindNumber || k == setting.KindDuration && v == 0
	default:
		return "", false
	}
}

// suggest names the setting whose key is most similar.
func suggest(key string, settings map[string]setting.Setting) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(s))
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if plain(name) == plain(key) {
			return "; did you mean " + name + "?"
		}
	}
	return ""
}
