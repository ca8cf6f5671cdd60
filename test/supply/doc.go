// Package supply pins the program that looks for known vulnerabilities in what netloom is built from, and holds the script
// around it against databases that know one, know none, and are not there. It is a module of its own: what the program
// needs does not meddle with the linters of test/tools.
package supply

import "os"

// Versions is what this module pins. Its call is what the test's database knows a vulnerability of.
func Versions() ([]byte, error) { return os.ReadFile("go.mod") }
