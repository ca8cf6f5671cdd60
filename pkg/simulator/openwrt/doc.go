// Package openwrt simulates the device of one CNF: it answers the SD-WAN REST interface of LuCI over HTTP or HTTPS. The
// demo, `netloom device-sim` and tests use it.
//
// It has state and the bugs of the real device, and is held to the answers that one gave (testdata/answers.jsonl). It stores
// its configuration as UCI packages (Export prints them as `uci export` does) and answers from them: everything comes back as
// trimmed text, empty fields are gone, nothing is required, names that UCI cannot store get 201 and null, a PUT deletes and
// then creates, kinds without section names accumulate objects of one name, a PUT moves its object to the end, certificates
// come back decoded once too often, keys are in cleartext, and the status of ipsec is printed into the header block. A login
// is possible but not required, unless Strict.
//
// A failed command goes unnoticed: the rules that nat, networkfirewall, route, rule and application put into the kernel
// are stored separately (Kernel prints them, as do the statuses of routes and rules) and survive a Restart. What is created
// again after that is there twice, and an impossible rule or route is simply missing.
//
// The behavior of firewall, mwan3 and ipsec follows their packages as of the last start, restart or reload of the
// service. Trace evaluates packets by that and by the kernel's rules; see Trace for what is modelled. Secrets, PrivateKeys and
// TrustedCAs are what strongSwan has loaded: keys are written as they are and read by its rules, and files of certificates that
// nothing names any more stay.
//
// A package that is too large for one message ends the configuration daemon: see Options.MessageLimit. RemovePackage,
// AddSection, SetOption and others do what a person with a shell could do.
//
// Faults on demand: Drop, Hang, Delay, FailAt, Restart, Recreate, ExpireSessions. Requests, Actions and Reloads list what
// clients did.
//
// Not simulated are: the older list of services under sdewan/service, the HTML pages of LuCI, and everything behind
// admin/ except logging out.
package openwrt
