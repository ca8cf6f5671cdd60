package manifest

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// A repository holds more than objects: values of charts, patches, settings of other programs. Options.Repository leaves them out.

// enoughFields is how many of the fields that all objects have a document needs to be taken for an object, perhaps a faulty one.
const enoughFields = 2

// resembles reports whether a document is an object, or seems to be meant as one, or is a list of such.
func resembles(raw json.RawMessage) bool {
	if beginsWithType(raw) {
		return true
	}
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' {
		return fieldsOf(raw) >= enoughFields
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for _, item := range list {
			if fieldsOf(item) >= enoughFields {
				return true
			}
		}
		return false
	}
	return fieldsOf(raw) >= enoughFields
}

// beginsWithType reports whether a value begins with the version and kind of an object. Nearly all objects do that were converted from YAML,
// which sorts their fields.
func beginsWithType(raw json.RawMessage) bool {
	rest, ok := bytes.CutPrefix(raw, []byte(`{"apiVersion":"`))
	if !ok {
		return false
	}
	_, rest, ok = bytes.Cut(rest, []byte(`"`))
	return ok && bytes.HasPrefix(rest, []byte(`,"kind":`))
}

// fieldsOf counts the fields of a value that all objects have.
func fieldsOf(raw json.RawMessage) int {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return 0
	}
	count := 0
	for _, name := range []string{"apiVersion", "kind", "metadata", "spec"} {
		if _, ok := fields[name]; ok {
			count++
		}
	}
	return count
}

var typeLine = regexp.MustCompile(`(?m)^[\s{,-]*["']?(apiVersion|kind)["']?\s*:`)

// isSettings reports whether a file that cannot be parsed is one of JSON with comments, as programs have for their settings. Any other one may
// be an object that was torn.
func isSettings(path string, text []byte) bool {
	return filepath.Ext(path) == ".json" && !typeLine.Match(text)
}

// isKustomization reports whether a file is one by its name.
func isKustomization(path string) bool {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) == "kustomization"
}

// uses is what a kustomization builds from files that declare no objects of their own.
type uses struct {
	Resources             []string                `json:"resources"`
	Patches               []struct{ Path string } `json:"patches"`
	PatchesStrategicMerge []string                `json:"patchesStrategicMerge"`
	PatchesJSON6902       []struct{ Path string } `json:"patchesJson6902"`
	Replacements          []struct{ Path string } `json:"replacements"`
	Configurations        []string                `json:"configurations"`
	Transformers          []string                `json:"transformers"`
	Generators            []string                `json:"generators"`
	ConfigMaps            []generated             `json:"configMapGenerator"`
	Secrets               []generated             `json:"secretGenerator"`
	HelmCharts            []struct {
		ValuesFile            string   `json:"valuesFile"`
		AdditionalValuesFiles []string `json:"additionalValuesFiles"`
	} `json:"helmCharts"`
}

// generated is a ConfigMap or a Secret that a kustomization makes of files.
type generated struct {
	Files []string `json:"files"` // each a path, or KEY=PATH
}

// partsOf lists the files that a kustomization, at a path, uses for something else than the objects in them, by their paths. One that
// cannot be read uses none.
func partsOf(path string, content []byte) []string {
	var u uses
	if yaml.Unmarshal(content, &u) != nil {
		return nil
	}
	var names []string
	for _, list := range [][]struct{ Path string }{u.Patches, u.PatchesJSON6902, u.Replacements} {
		for _, p := range list {
			names = append(names, p.Path)
		}
	}
	for _, list := range [][]string{u.PatchesStrategicMerge, u.Configurations, u.Transformers, u.Generators} {
		names = append(names, list...)
	}
	for _, list := range [][]generated{u.ConfigMaps, u.Secrets} {
		for _, g := range list {
			for _, file := range g.Files {
				_, of, named := strings.Cut(file, "=")
				if !named {
					of = file
				}
				names = append(names, of)
			}
		}
	}
	for _, c := range u.HelmCharts {
		names = append(append(names, c.ValuesFile), c.AdditionalValuesFiles...)
	}
	declared := map[string]bool{}
	for _, name := range u.Resources {
		declared[filepath.Clean(name)] = true
	}
	var out []string
	for _, name := range names {
		if name != "" && !strings.Contains(name, "\n") && !declared[filepath.Clean(name)] { // a patch may also stand in the list itself
			out = append(out, filepath.Join(filepath.Dir(path), name))
		}
	}
	return out
}
