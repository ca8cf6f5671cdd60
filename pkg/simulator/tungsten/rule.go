package tungsten

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// protocols are the numbers of protocols by name. The server takes no numbers.
var protocols = map[string]int{
	"any": 0, "icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "egp": 8, "udp": 17, "ipv6": 41, "gre": 47, "esp": 50, "ah": 51, "icmp6": 58,
	"ipv6-icmp": 58, "ospf": 89, "pim": 103, "sctp": 132,
}

// completeService fills in the number of the protocol.
func completeService(s dict) (dict, *refusal) {
	n, ok := protocols[strings.ToLower(s.text("protocol"))]
	if !ok {
		return nil, refuse(http.StatusBadRequest, "Invalid protocol: %s", s.text("protocol"))
	}
	s.set("protocol_id", number(n))
	return s, nil
}

func completeServices(elements map[string]any) *refusal {
	for _, position := range slices.Sorted(maps.Keys(elements)) {
		s, bad := completeService(elements[position].(dict))
		if bad != nil {
			return bad
		}
		elements[position] = s
	}
	return nil
}

// completeRule checks a firewall rule and computes what follows from a body: the numbers of protocols and tags, and the references
// to tags and address groups. o has the properties of the body already; refs are its references to come.
func (db *database) completeRule(o *object, body dict, refs map[string]map[string]any) *refusal {
	if _, ok := body.get("tag_refs"); ok {
		return refuse(http.StatusBadRequest,
			"Cannot directly define Tags reference from a Firewall Rule. Use 'tags' endpoints property in the Firewall Rule")
	}
	if _, ok := body.get("address_group_refs"); ok {
		return refuse(http.StatusBadRequest,
			"Cannot directly define Address Group reference from a Firewall Rule. Use 'address_group' endpoints property in the Firewall Rule")
	}
	if bad := o.checkService(refs); bad != nil {
		return bad
	}
	if bad := o.checkHostBased(); bad != nil {
		return bad
	}
	if s := o.dict("service"); s != nil {
		done, bad := completeService(s)
		if bad != nil {
			return bad
		}
		o.props["service"] = done
	}
	if bad := db.completeMatchTags(o, body); bad != nil {
		return bad
	}
	return db.completeEndpoints(o, refs)
}

// checkService checks that a rule has a service or a service group.
func (o *object) checkService(refs map[string]map[string]any) *refusal {
	groups, own := withRefs(o, refs, "service-group"), o.dict("service") != nil
	switch {
	case own && len(groups) > 0:
		return refuse(http.StatusBadRequest, "Firewall Rule cannot have both defined 'service' property and Service Group reference(s)")
	case !own && len(groups) == 0:
		return refuse(http.StatusBadRequest, "Firewall Rule requires at least 'service' property or Service Group references(s)")
	}
	return nil
}

func (o *object) checkHostBased() *refusal {
	if on, _ := o.dict("action_list").get("host_based_service"); on != true {
		return nil
	}
	if !o.scoped() {
		return refuse(http.StatusBadRequest, "host-based-service rule action can only be use in a project scope")
	}
	return refuse(http.StatusBadRequest, "Cannot use Host Based Service firewall rule action: Project %s(%s) have no host based service instantiated",
		o.parent.fqText(), o.parent.uuid)
}

// completeMatchTags computes the numbers of the tag types that must match.
func (db *database) completeMatchTags(o *object, body dict) *refusal {
	sent, given := body.get("match_tags")
	if !given || sent == nil {
		if o.props["match_tag_types"] == nil {
			o.props["match_tag_types"] = dict{{"tag_type", []any{number(1)}}}
		}
		return nil
	}
	types := []any{}
	for _, e := range sortedElements(o.lists["match_tags"]) {
		name := strings.ToLower(plain(e))
		if name == "label" {
			return refuse(http.StatusBadRequest, "labels not allowed as match-tags")
		}
		t := db.find("tag-type", []string{name})
		if t == nil {
			return refuse(http.StatusNotFound, "Unknown id: tag_type %s", name)
		}
		id, _ := strconv.ParseUint(t.text("tag_type_id"), 0, 16) // the simulator wrote it
		types = append(types, number(id))
	}
	o.props["match_tag_types"] = dict{{"tag_type", types}}
	return nil
}

func sortedElements(elements map[string]any) []any {
	var out []any
	for _, position := range slices.Sorted(maps.Keys(elements)) {
		out = append(out, elements[position])
	}
	return out
}

// completeEndpoints resolves the tags and address groups of both ends.
func (db *database) completeEndpoints(o *object, refs map[string]map[string]any) *refusal {
	tags, groups := make(map[string]any), make(map[string]any)
	for _, name := range []string{"endpoint_1", "endpoint_2"} {
		e := o.dict(name)
		if e == nil {
			continue
		}
		if bad := checkEndpoint(e); bad != nil {
			return bad
		}
		ids := []any{}
		names, _ := e.get("tags")
		list, _ := texts(names)
		for _, tagName := range list {
			tag, bad := db.endpointTag(o, tagName)
			if bad != nil {
				return bad
			}
			id, _ := strconv.ParseUint(tag.text("tag_id"), 0, 32) // the simulator wrote it
			if !slices.Contains(ids, any(number(id))) {
				ids = append(ids, number(id))
			}
			tags[tag.uuid] = nil
		}
		e.set("tag_ids", ids)
		o.props[name] = e
		if group := e.text("address_group"); group != "" {
			found := db.find("address-group", strings.Split(group, ":"))
			if found == nil {
				return refuse(http.StatusNotFound, "No Address Group object found for %s", group)
			}
			groups[found.uuid] = nil
		}
	}
	refs["tag"], refs["address-group"] = tags, groups
	return nil
}

// checkEndpoint checks that an end is described in one way only.
func checkEndpoint(e dict) *refusal {
	n := 0
	for _, name := range []string{"tags", "address_group", "virtual_network", "subnet", "any"} {
		switch v, _ := e.get(name); v := v.(type) {
		case bool:
			if v {
				n++
			}
		case string:
			if v != "" {
				n++
			}
		case []any:
			if len(v) > 0 {
				n++
			}
		case dict:
			if len(v) > 0 {
				n++
			}
		}
	}
	if n > 1 {
		return refuse(http.StatusBadRequest, "Endpoint is limited to only one endpoint type at a time")
	}
	return nil
}

// endpointTag finds a tag that a rule names.
func (db *database) endpointTag(o *object, name string) (*object, *refusal) {
	if !strings.Contains(name, "=") {
		return nil, refuse(http.StatusNotFound, "Invalid tag name '%s'", name)
	}
	global, isGlobal := strings.CutPrefix(name, "global:")
	fqName := []string{global}
	if !isGlobal && o.scoped() {
		fqName = append(append([]string{}, o.parent.fqName...), name)
	}
	if tag := db.find("tag", fqName); tag != nil {
		return tag, nil
	}
	return nil, refuse(http.StatusNotFound, "Unknown id: tag %s", joinName(fqName))
}
