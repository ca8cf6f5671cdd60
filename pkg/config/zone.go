package config

import "github.com/netloom/netloom/pkg/config/setting"

// zoneNode is the setting that restricts netloom to the pods of one node.
func (c *Config) zoneNode() setting.Setting {
	return setting.Matching("zone-node", "",
		"name of the node whose pods are subjects of policies, if each node has its own database; all pods are peers. Empty means all nodes",
		"the name of a node, or nothing", `^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$`,
		&c.ZoneNode)
}

// zoneContradictions finds settings that do not work for one node: such a netloom knows only part of the effect of
// policies, and there is one on every node.
func (c *Config) zoneContradictions(bad map[string]bool, backends []setting.Group, fault func(key, reason string)) {
	if c.ZoneNode == "" || bad["zone-node"] {
		return
	}
	together := "cannot be combined with zone-node (" + c.origins["zone-node"].String() + "): "
	for _, group := range backends {
		if group.Shared && group.Configured() {
			fault(group.Settings[0].Key, together+"every node's netloom would write to the same target")
		}
	}
	if c.SDWAN.Enabled {
		fault("sdewan", together+"every node's netloom would write to every CNF; run a separate one for them without ovn-nb")
	}
	if c.Leader.Elect {
		fault("leader-elect", together+"every node's netloom writes to its own database and cannot take over another")
	}
	if c.Feedback.Events {
		fault("policy-events", together+"every node's netloom would create Events for every policy")
	}
	if len(c.ACLLogs) > 0 {
		fault("acl-log", together+"it has no page to show connections on; on the node, run netloom observe")
	}
	if c.UIListen != "" {
		fault("ui-listen", together+"the page evaluates whole connections, but this netloom only knows what one node enforces")
	}
}
