package config

// zoneNode is the setting that makes a netloom that of one node.
func zoneNode() Setting {
	return matching("zone-node", "",
		"name of the node whose pods are subjects of policies, where each node has a database of its own; all pods are peers. Empty is every node",
		"the name of a node, or nothing", `^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)?$`,
		func(c *Config) *string { return &c.ZoneNode })
}

// zoneContradictions looks for what a netloom of one node cannot do: it knows only half of what policies say, and there is
// one on every node.
func (c *Config) zoneContradictions(bad map[string]bool, fault func(key, reason string)) {
	if c.ZoneNode == "" || bad["zone-node"] {
		return
	}
	together := "cannot be given together with zone-node (" + c.origins["zone-node"].String() + "): "
	if c.SDWAN.Enabled {
		fault("sdewan", together+"every node's netloom would write to every network function; run one for them without ovn-nb")
	}
	if c.Leader.Elect {
		fault("leader-elect", together+"every node's netloom writes a database of its own, and none stands by for another")
	}
	if c.Feedback.Events {
		fault("policy-events", together+"every node's netloom would tell of every policy")
	}
	if c.UIListen != "" {
		fault("ui-listen", together+"the page judges whole connections, and this netloom knows what one node enforces")
	}
}
