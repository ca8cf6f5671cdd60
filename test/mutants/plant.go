package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// plant applies a mutant to copies in dir of the files that it changes. It returns the tree to run in and the overlay: the
// tree as it is with an overlay, or for files that the go command does not read a copy of the tree, without one.
func plant(m mutant, tree, dir string) (runIn, overlay string, err error) {
	copied := filepath.Join(dir, "tree")
	if !m.onlyGo() {
		files, err := listed(tree)
		if err != nil {
			return "", "", err
		}
		if err := copyFiles(tree, copied, files); err != nil {
			return "", "", err
		}
		return copied, "", apply(m.text, copied)
	}
	if err := copyFiles(tree, copied, m.files); err != nil {
		return "", "", err
	}
	if err := apply(m.text, copied); err != nil {
		return "", "", err
	}
	replace := map[string]string{}
	for _, file := range m.files {
		replace[within(tree, file)] = within(copied, file)
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return tree, overlay, os.WriteFile(overlay, content, 0o600)
}

// apply runs git apply in a directory outside of any repository.
func apply(patch []byte, dir string) error {
	cmd := exec.Command("git", "apply", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = bytes.NewReader(patch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git apply: %s", bytes.TrimSpace(out))
	}
	return nil
}

// listed returns the files of a tree that are in git or would be added.
func listed(tree string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = tree
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", tree, err)
	}
	return strings.Split(strings.TrimRight(string(out), "\x00"), "\x00"), nil
}

// copyFiles copies the files that exist, with their modes; links stay links.
func copyFiles(from, to string, files []string) error {
	for _, file := range files {
		source, target := within(from, file), within(to, file)
		info, err := os.Lstat(source)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			link, err := os.Readlink(source)
			if err != nil {
				return err
			}
			if err := os.Symlink(link, target); err != nil {
				return err
			}
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, content, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}
