package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lock is what a package-lock.json of npm says of packages, by the directories that they are installed in.
type lock struct {
	Packages map[string]struct {
		Version   string `json:"version"`
		Integrity string `json:"integrity"`
	} `json:"packages"`
}

// npmPackages lists the packages of a package-lock.json, in the order of their names.
func npmPackages(text []byte) ([]component, error) {
	var l lock
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	var out []component
	for _, dir := range slices.Sorted(maps.Keys(l.Packages)) {
		_, name, installed := strings.Cut(dir, "node_modules/")
		if !installed {
			continue // what needs them
		}
		p := l.Packages[dir]
		sum, known := strings.CutPrefix(p.Integrity, "sha512-")
		raw, err := base64.StdEncoding.DecodeString(sum)
		if !known || err != nil {
			return nil, fmt.Errorf("%s: integrity %q: expected sha512-, and base64", name, p.Integrity)
		}
		out = append(out, component{
			Type: "library", Name: name, Version: p.Version, Scope: "required",
			PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version, Hashes: []hash{{"SHA-512", hex.EncodeToString(raw)}},
		})
	}
	return out, nil
}
