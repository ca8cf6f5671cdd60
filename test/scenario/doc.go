// Package scenario runs scripts: objects appear and disappear, and after each step probes check who can reach whom.
//
// A script is one file that fits on one screen. Its first lines, starting with "#", are its title. Then comes one step
// per line, then the manifests it applies, each under a line like "-- web.yaml --". The steps:
//
//	namespace NAME [KEY=VALUE ...]       a namespace with these labels is created or replaced
//	node NAME [WORD ...]                 a node; the words are addresses, external=ADDRESS, zone=ZONE and labels KEY=VALUE
//	pod NS/NAME [WORD ...]               a pod; the words are labels KEY=VALUE, addresses, @NODE, :PORT=NUMBER/PROTOCOL
//	                                     for a named port, hostnetwork, terminating, and a phase when it is not Running
//	service NS/NAME [WORD ...]           a Service: see below
//	endpoints NS/SERVICE[/SLICE] [WORD ...]
//	                                     the content of slices: see below
//	apply FILE ...                       every document of the files is created or replaced, at once: NetworkPolicies,
//	                                     cluster-wide policies, Namespaces, Services, EndpointSlices and Endpoints
//	resolve NAME [ADDRESS ...]           DNS answers a name with these addresses from now on
//	label pod|namespace NAME KEY=VALUE KEY-
//	address NS/NAME [ADDRESS ...]        the pod has these addresses now
//	finish NS/NAME [PHASE]               the pod has ended, by default Succeeded, and keeps its addresses
//	delete policy|cnp|anp|banp|pod|namespace|node|service|slice|endpoints NAME
//	restart                              every process restarts; the target keeps its rows
//	fault N                              on the way to the next state, the N-th write fails
//	writes N [on BACKEND]                the last step took that many write transactions, on backends with names like that
//	problem TEXT                         the state has a problem that contains the text
//	skip TEXT                            some backend cannot express all of the state; the reason contains the text
//	rows TEXT                            the rows of the target contain the text
//	probe FROM -> TO [v4|v6] [in NETWORK] PORTS OUTCOME [via BACKEND,...]
//	probe FROM -> NS/SERVICE:PORT [v4|v6] [in NETWORK] OUTCOME [via BACKEND,...]
//
// The words of a Service are its cluster IPs, its ports :[NAME=]NUMBER[:NODEPORT]/PROTOCOL, its type, headless, publish
// for publishNotReadyAddresses, and
//
//	external=ADDRESS    an external IP           internal=Local     internalTrafficPolicy
//	ingress=ADDRESS     a load balancer's IP     outside=Local      externalTrafficPolicy
//	ingress=ADDRESS/Proxy   with its ipMode      affinity=SECONDS   sessionAffinity ClientIP
//	from=PREFIX         a source range           health=PORT        healthCheckNodePort
//	network=NAME vpc=NAME   the annotation       distribution=WORD  trafficDistribution
//	created=YEAR        its age                  KEY=VALUE          a label
//
// The words of endpoints are ports :[NAME=]NUMBER/PROTOCOL and POD|ADDRESS[@NODE][!CONDITION][~HINT+...]. A pod is on its
// node, with all its addresses; there is a slice for each family. The conditions are notready, draining, gone
// (terminating, not serving) and unknown (none is set); without one the endpoint is ready. Hints are names of nodes or
// zones. A line replaces an earlier line of the same name.
//
// FROM and TO are pods NS/NAME or addresses, PORTS are like tcp/80 or icmp; each may be a list separated by commas. Pods
// are probed at every address of the families that both ends have. A flow enters at the node of the sending pod; for an
// address the node can be given: ADDRESS@NODE. A Service stands for its cluster IPs and one of its ports, by name or number.
//
// OUTCOME is allow or deny. For a frontend of a Service, these cover every backend that the flow may be sent on to; some
// means that policies allow only some of them, refuse that there is no backend at all, drop that there is none for this
// flow. The list of backends is complete: [!]POD|ADDRESS[:PORT] each, with ! before those that policies deny.
//
// Each probe is evaluated four times: the script's expectation, the oracle, the intents and the native rows must give the
// same result. And each script runs on every backend along many roads, which must all end in the same rows: as written,
// every object given twice, a restart after each step, each state alone from scratch, steps squashed, objects in reverse
// order, the states backwards, and every write failing once. Of backends that differ only in their schema, one takes
// every third of these roads, by the title of the script, the others the first and restarts, as does the one whose writes are single
// requests, unless -scenario.roads is given, as make roads does.
package scenario
