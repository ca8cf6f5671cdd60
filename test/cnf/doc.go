// Package cnf is an in-process cluster: an API, CNFs with an OpenWRT device in each pod, DNS, and the whole controller.
// Scripts describe what happens to it and what the result must be.
//
// A script is one file that fits on one screen. Its first line, starting with "#", is its title. Then comes one step per
// line, then the manifests it applies, each under a line like "-- web.yaml --". It runs in a bubble of testing/synctest,
// where waiting takes no time. After each step that changes something, everything has two seconds to settle. The steps:
//
//	cnf NS/NAME PURPOSE REPLICAS [WORD ...]
//	                       a CNF with pods NAME-1, NAME-2 and so on. The words: kind=StatefulSet or kind=Pod,
//	                       networks=NAME,... of net0 and so on (ovn-net0,ovn-net1,ovn-net2), multus for another annotation
//	                       of theirs, tls, and open for a device that wants no password
//	scale NS/NAME REPLICAS the last replicas go, or further ones come
//	pod WORD NS/POD ...    stop, start (it has forgotten everything), restart (likewise, before a probe fails), disconnect
//	                       (it is not ready 25 s later), reconnect, unready, ready, leave (terminating), delete, replace
//	app NS/NAME ADDRESS [KEY=VALUE ...]
//	                       any other pod
//	dns NAME [ADDRESS ...]
//	secret NS/NAME KEY=VALUE ...
//	apply FILE ...         every document of the files is created or replaced, at once
//	edit KIND NS/NAME JSON merges JSON into the object
//	delete KIND NS/NAME ...; delete FILE
//	controller start [cluster-wide] [https-only] [service-rules=WORD] [service-purpose=PURPOSE] [status-interval=TIME]
//	controller stop; controller restart
//	api down; api up; api conflict N; api forbid|allow|undefine|define RESOURCE
//	fault NS/POD hang|resume|drop|expire|forget|password WORD|delay TIME|fail N [between|after]|failafter N
//	                       what goes wrong with the device, see simulator.Device; forget is a restart without an event
//	hand NS/POD add PACKAGE/TYPE[/NAME] OPTION=VALUE ...
//	hand NS/POD remove PACKAGE/TYPE/NAME, or /OPTION=VALUE for NAME
//	                       as a user with a shell on the device
//	wait TIME
//	mark                   resets the counters
//
// The expectations:
//
//	device NS/POD PACKAGE/TYPE N [OPTION=VALUE ...]
//	                       there are N such sections, no duplicates, and no references to missing objects
//	same NS/POD ...        the devices have the same configuration
//	as-booted NS/POD ...   they have the configuration that they started with
//	status KIND NS/NAME,... none|insync|applying|deleting|unknown [TEXT]
//	                       the status, in every vocabulary; its message contains the text
//	applied KIND NS/NAME never|earlier|now|since=TIME
//	                       which generation has been applied, and when
//	finalizer KIND NS/NAME WORD|none
//	trace NS/POD,... INTERFACE SOURCE DESTINATION PROTOCOL/PORT accept|drop|reject
//	                       what the devices do with the first packet of a connection that passes through them
//	says KIND NS/NAME [!]TEXT
//	                       the whole object, as JSON
//	exists, gone, going KIND NS/NAME ...
//	problem TEXT|none
//	reloads NS/POD none|SERVICE=N ...; writes NS/POD N
//	                       since the last mark
//	quiet TIME             in that time nothing is written, neither to a device nor to the API
//	log [!]TEXT
package cnf
