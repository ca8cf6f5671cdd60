//go:build !linux

package manifest

import "os"

// mountOf is not supported here: an unmounted volume looks like an emptied directory.
func mountOf(*os.File) mount { return mount{} }
