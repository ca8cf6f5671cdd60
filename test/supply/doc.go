// Package supply pins the program that looks for known vulnerabilities in netloom's dependencies, and tests the script
// around it with databases that have one, have none, and do not exist. It is a separate module: the dependencies of the
// program stay apart from the linters of test/tools.
package supply

import "os"

// Versions returns the go.mod of this module. In the test's database, this function calls one with a vulnerability.
func Versions() ([]byte, error) { return os.ReadFile("go.mod") }
