// Package simulator simulates the device of one CNF: it answers the SD-WAN REST interface of LuCI over HTTP or HTTPS. The
// demo, `netloom device-sim` and tests use it.
//
// It has state and is wrong where the real one is wrong. It keeps its configuration as UCI packages (Export prints them
// as `uci export` does) and answers from them: everything comes back as trimmed text, empty fields are gone, nothing is
// required, names that UCI cannot hold get 201 and null, a PUT deletes and then creates, kinds without section names pile
// up under one name, a PUT moves its object to the end, certificates come back decoded once too often, keys in clear, and
// the status of ipsec is printed into the header block. A login is possible and nothing asks for it, unless Strict.
//
// A failed command goes unnoticed: the rules that nat, networkfirewall, route, rule and application put into the kernel
// are kept apart (Kernel prints them), where they survive a Restart, and an impossible one is simply not there.
//
// What firewall, mwan3 and ipsec do is what their packages said when the service was last started, restarted or
// reloaded. Trace judges packets by that and by the kernel's rules; see Trace for what is modelled.
//
// Faults on demand: Drop, Hang, Delay, FailAt, Restart, Recreate, ExpireSessions. Requests and Actions tell what clients
// asked for.
//
// Left out: the older list of services under sdewan/service, the pages of LuCI for people, and everything behind admin/
// except logging out.
package simulator
