package tungsten

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// beforeCreate does what is particular to a kind before a new object is stored.
func (db *database) beforeCreate(o *object, body dict) *refusal {
	if o.kind.name != "firewall-rule" {
		if bad := db.checkTags(o, o.refs["tag"]); bad != nil {
			return bad
		}
	}
	if bad := db.checkQuota(o); bad != nil {
		return bad
	}
	switch o.kind.name {
	case "tag":
		return db.numberTag(o)
	case "tag-type":
		return db.numberTagType(o)
	case "firewall-rule":
		return db.completeRule(o, body, o.refs)
	case "service-group":
		return completeServices(o.lists["service_group_firewall_service_list"])
	case "application-policy-set":
		return checkAllApplications(body)
	case "virtual-network":
		return db.completeNetwork(o)
	case "virtual-machine-interface":
		return db.completeInterface(o)
	case "instance-ip":
		return db.assignAddress(o, "instance_ip_address", o.targets("virtual-network"))
	case "floating-ip":
		if o.parent.kind.name == "floating-ip-pool" {
			return db.assignAddress(o, "floating_ip_address", []string{o.parent.parent.uuid})
		}
	}
	return nil
}

// afterCreate makes what the server makes together with an object.
func (db *database) afterCreate(o *object) {
	switch o.kind.name {
	case "project":
		aps := db.make("application-policy-set", o, "default-application-policy-set")
		aps.props["all_applications"] = true
		db.setRefs(o, "application-policy-set", map[string]any{aps.uuid: nil})
	case "virtual-network":
		ri := db.make("routing-instance", o, o.name())
		ri.props["display_name"] = o.name()
	}
}

// afterDelete frees what an object had.
func (db *database) afterDelete(o *object) {
	switch o.kind.name {
	case "tag":
		id, _ := strconv.ParseUint(o.text("tag_id"), 0, 32) // the simulator wrote it
		typeName := o.text("tag_type_name")
		db.tagIDs.of(typeName).free(int(id & 0xffff))
		t := db.find("tag-type", []string{typeName})
		if t != nil && len(t.backRefs["tag"]) == 0 && id>>16 >= firstType {
			db.remove(t)
			db.afterDelete(t)
		}
	case "tag-type":
		id, _ := strconv.ParseUint(o.text("tag_type_id"), 0, 16) // the simulator wrote it
		db.tagIDs.types.free(int(id))
	case "instance-ip", "floating-ip":
		db.releaseAddress(o)
	}
}

// make stores an object that the server makes by itself.
func (db *database) make(kind string, parent *object, name string) *object {
	o := &object{
		kind: db.kinds[kind], uuid: newUUID(), fqName: []string{name}, parent: parent, automatic: true,
		props: make(map[string]any), lists: make(map[string]map[string]any), refs: make(map[string]map[string]any),
	}
	if parent != nil {
		o.fqName = append(append([]string{}, parent.fqName...), name)
	}
	_ = o.setPerms(nil, true) // refuses nothing without a body
	db.add(o)
	return o
}

func checkAllApplications(body dict) *refusal {
	if all, ok := body.get("all_applications"); ok && all != false {
		return refuse(http.StatusBadRequest, "Application policy set 'all-applications' flag is read-only")
	}
	return nil
}

// checkQuota checks how many children of a kind a project may have.
func (db *database) checkQuota(o *object) *refusal {
	if o.parent == nil {
		return nil
	}
	limit, ok := o.parent.dict("quota").get(o.kind.field)
	n, err := strconv.Atoi(plain(limit))
	if !ok || err != nil || n < 0 || len(o.parent.children[o.kind.name]) < n {
		return nil
	}
	return &refusal{
		code: http.StatusPreconditionFailed, page: true, text: fmt.Sprintf("quota limit (%d) exceeded for resource %s", n, o.kind.field),
	}
}

// tagName is the name that the server gives a tag.
func tagName(o *object) (string, *refusal) {
	typeName, hasType := o.props["tag_type_name"].(string)
	value, hasValue := o.props["tag_value"].(string)
	if !hasType || !hasValue {
		return "", refuse(http.StatusBadRequest, "Tag must be created with a type and a value")
	}
	return strings.ToLower(typeName) + "=" + value, nil
}

// numberTag gives a new tag its ID, and makes its type if it is the first.
func (db *database) numberTag(o *object) *refusal {
	typeName := strings.ToLower(o.text("tag_type_name"))
	o.props["tag_type_name"] = typeName
	o.props["display_name"] = o.name()
	typeID, valueID := -1, -1
	if chosen := o.text("tag_id"); chosen != "" {
		id, err := strconv.ParseUint(chosen, 0, 32)
		if err != nil || id>>16 < autoIDs || id&0xffff < autoIDs {
			return refuse(http.StatusBadRequest, "Tag id can be set only for user defined tags in range                   32678-65535")
		}
		typeID, valueID = int(id>>16), int(id&0xffff)
	}
	t := db.find("tag-type", []string{typeName})
	values := db.tagIDs.of(typeName)
	if valueID >= 0 {
		if !values.claim(valueID) {
			return refuse(http.StatusBadRequest, "Requested Tag id is already allocated")
		}
	} else {
		var ok bool
		if valueID, ok = values.take(); !ok {
			return crash("cfgm_common.exceptions.ResourceExhaustionError: Resource Exhausted: ")
		}
	}
	if t == nil {
		var bad *refusal
		if t, bad = db.makeTagType(typeName, typeID); bad != nil {
			values.free(valueID)
			return bad
		}
	}
	number, _ := strconv.ParseUint(t.text("tag_type_id"), 0, 16) // the simulator wrote it
	o.props["tag_id"] = fmt.Sprintf("0x%04x%04x", number, valueID)
	o.refs["tag-type"] = map[string]any{t.uuid: nil}
	return nil
}

// makeTagType makes the type of a tag, with a chosen ID unless that is negative.
func (db *database) makeTagType(name string, id int) (*object, *refusal) {
	if id < 0 {
		var ok bool
		if id, ok = db.tagIDs.types.take(); !ok {
			return nil, crash("cfgm_common.exceptions.ResourceExhaustionError: Resource Exhausted: ")
		}
	} else if !db.tagIDs.types.claim(id) {
		return nil, refuse(http.StatusBadRequest, "Requested Tag Type id is already allocated")
	}
	t := db.make("tag-type", nil, name)
	t.automatic = false
	t.props["display_name"], t.props["tag_type_id"] = name, fmt.Sprintf("0x%04x", id)
	t.idPerms.set("enable", nil)
	t.idPerms.set("user_visible", false)
	return t, nil
}

// numberTagType gives a tag type that a client makes its ID.
func (db *database) numberTagType(o *object) *refusal {
	id, ok := db.tagIDs.types.take()
	if !ok {
		return crash("cfgm_common.exceptions.ResourceExhaustionError: Resource Exhausted: ")
	}
	o.props["tag_type_id"] = fmt.Sprintf("0x%04x", id)
	return nil
}
