// Package scenario runs scripts: objects come and go, and after each step probes say who can reach whom.
//
// A script is one file, one screen. Its first lines, from "#", say what it shows. Then comes one step a line, then the
// manifests it applies, each under a line like "-- web.yaml --". The steps:
//
//	namespace NAME [KEY=VALUE ...]       a namespace with these labels is created or replaced
//	node NAME [ADDRESS ...]              a node with these addresses
//	pod NS/NAME [WORD ...]               a pod; the words are labels KEY=VALUE, addresses, @NODE, :PORT=NUMBER/PROTOCOL
//	                                     for a named port, hostnetwork, and a phase when it is not Running
//	apply FILE ...                       every document of the files is created or replaced, at once
//	label pod|namespace NAME KEY=VALUE KEY-
//	address NS/NAME [ADDRESS ...]        the pod has these addresses now
//	finish NS/NAME [PHASE]               the pod has ended, Succeeded unless said otherwise, and keeps its addresses
//	delete policy|pod|namespace|node NAME
//	restart                              every process starts anew; the target keeps what it has
//	fault N                              on the way to the next state, the N-th write fails
//	writes N                             the last step took so many write transactions
//	problem TEXT                         the state has a problem that contains the text
//	probe FROM -> TO [v4|v6] PORTS allow|deny
//
// FROM and TO are pods NS/NAME or addresses, PORTS are like tcp/80 or icmp; each may be several, with commas between.
// Pods are probed by every address of the families both ends have.
//
// Each probe is judged by four: what the script expects, the oracle, the intents and the native rows must agree. And
// each script runs on every backend along many roads, which must all end in the same rows: as written, every object
// given twice, a restart after each step, each state alone from scratch, steps squashed, objects in reverse order, the
// states backwards, and every write failing once.
package scenario
