package main

import (
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oldest:", err)
		os.Exit(1)
	}
}

func run() error {
	var dirs []string
	if err := json.NewDecoder(os.Stdin).Decode(&dirs); err != nil {
		return fmt.Errorf("read the names of directories: %w", err)
	}
	rendered := make([]string, len(dirs))
	for i, dir := range dirs {
		var err error
		if rendered[i], err = render(dir); err != nil {
			return fmt.Errorf("render %s: %w", dir, err)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(rendered)
}

// render renders the kustomization in a directory.
func render(dir string) (string, error) {
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return "", err
	}
	text, err := rendered.AsYaml()
	return string(text), err
}
