package tungsten

import "net/http"

// special executes a request that is neither for an object nor for a list; ok is false if it is not one.
func (c *call) special() (a answer, ok bool) {
	handlers := map[string]func() answer{
		"GET /":                        c.links,
		"GET /prop-collection-get":     c.propCollectionGet,
		"POST /list-bulk-collection":   c.listBulk,
		"POST /fqname-to-id":           c.nameToID,
		"POST /id-to-fqname":           c.idToName,
		"POST /ref-update":             c.refUpdate,
		"POST /prop-collection-update": c.propCollectionUpdate,
		"POST /set-tag":                c.setTag,
		"POST /security-policy-draft":  c.securityPolicyDraft,
		"POST /useragent-kv":           c.keyValue,
	}
	handle := handlers[c.r.Method+" "+c.path]
	if handle == nil {
		return answer{}, false
	}
	if c.r.Method == http.MethodPost {
		if _, isObject := c.dict(); !isObject {
			return c.refused(crash("")), true
		}
	}
	return handle(), true
}

// sent is the body of a special request, an object.
func (c *call) sent() dict {
	d, _ := c.dict()
	return d
}

func (c *call) links() answer {
	links := []any{}
	for _, name := range sortedKinds(c.db) {
		k := c.db.kinds[name]
		links = append(links, dict{{"link", dict{
			{"href", c.base + "/" + k.collection()}, {"name", name}, {"rel", "collection"}, {"method", nil},
		}}})
	}
	return jsonAnswer(dict{{"href", c.base}, {"links", links}})
}

// kindNamed is the kind that a request names.
func (c *call) kindNamed(field string) (*kind, *refusal) {
	sent, _ := c.sent().get(field)
	k := c.db.kinds[dashed(plain(sent))]
	if k == nil {
		return nil, refuse(http.StatusNotFound, "Resource type '%s' not found", plain(sent))
	}
	return k, nil
}

func (c *call) listBulk() answer {
	k, bad := c.kindNamed("type")
	if bad != nil {
		return c.refused(bad)
	}
	params := make(map[string]string)
	for _, m := range c.sent() {
		if m.key == "type" || m.key == "fq_names" || m.value == nil || m.value == false {
			continue // the server reads names from an address only
		}
		params[m.key] = plain(m.value)
	}
	return c.list(k, params)
}

func (c *call) nameToID() answer {
	k, bad := c.kindNamed("type")
	if bad != nil {
		return c.refused(bad)
	}
	sent, _ := c.sent().get("fq_name")
	fqName, ok := texts(sent)
	if !ok {
		return c.refused(crash(""))
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	o := c.db.find(k.name, fqName)
	if o == nil {
		return c.refused(refuse(http.StatusNotFound, "Name %s not found", repr(fqName)))
	}
	return jsonAnswer(dict{{"uuid", o.uuid}})
}

func (c *call) idToName() answer {
	uuid := c.sent().text("uuid")
	c.mu.RLock()
	defer c.mu.RUnlock()
	o := c.db.byUUID[uuid]
	if o == nil {
		return c.refused(refuse(http.StatusNotFound, "UUID %s not found", uuid))
	}
	return jsonAnswer(dict{{"fq_name", anys(o.fqName)}, {"type", o.kind.name}})
}

func (c *call) refUpdate() answer {
	body := c.sent()
	k, bad := c.kindNamed("type")
	if bad != nil {
		return c.refused(bad)
	}
	to, bad := c.kindNamed("ref-type")
	if bad != nil {
		return c.refused(bad)
	}
	operation, uuid, target := body.text("operation"), body.text("uuid"), body.text("ref-uuid")
	fqName, named := body.get("ref-fq-name")
	switch {
	case target == "" && !named:
		return c.refused(refuse(http.StatusBadRequest, "Bad Request: ref-uuid or ref-fq-name must be specified"))
	case operation != "ADD" && operation != "DELETE":
		return c.refused(refuse(http.StatusBadRequest, "Bad Request: operation should be add or delete: %s", operation))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	o := c.db.byUUID[uuid]
	if o == nil || o.kind != k {
		return c.refused(refuse(http.StatusNotFound, "Unknown id: %s", uuid))
	}
	if target == "" {
		name, _ := texts(fqName)
		found := c.db.find(to.name, name)
		if found == nil {
			return c.refused(refuse(http.StatusNotFound, "Name %s not found", repr(fqName)))
		}
		target = found.uuid
	}
	if found := c.db.byUUID[target]; operation == "ADD" && (found == nil || found.kind != to) {
		return c.refused(refuse(http.StatusNotFound, "Unknown id: %s", target))
	}
	code := http.StatusOK
	if pm := c.db.draftScope(k, o.parent); pm != nil {
		o = c.db.draftCopy(o, pm, "updated")
		code = http.StatusAccepted
	}
	attr, _ := body.get("attr")
	if bad := c.db.updateRef(o, to.name, target, operation == "ADD", attr); bad != nil {
		return c.refused(bad)
	}
	a := jsonAnswer(dict{{"uuid", uuid}})
	a.code = code
	return a
}

func (c *call) propCollectionUpdate() answer {
	uuid := c.sent().text("uuid")
	sent, _ := c.sent().get("updates")
	updates, _ := sent.([]any)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	o := c.db.byUUID[uuid]
	if o == nil {
		return c.refused(refuse(http.StatusNotFound, "Object Not Found: %s", uuid))
	}
	if bad := c.db.updateCollection(o, updates); bad != nil {
		return c.refused(bad)
	}
	return emptyAnswer()
}

func (c *call) propCollectionGet() answer {
	uuid, field := c.query.Get("uuid"), c.query.Get("fields")
	c.mu.RLock()
	defer c.mu.RUnlock()
	o := c.db.byUUID[uuid]
	if o == nil {
		return c.refused(refuse(http.StatusNotFound, "Object Not Found: %s", uuid))
	}
	elements, bad := o.collection(field, c.query.Get("position"))
	if bad != nil {
		return c.refused(bad)
	}
	return jsonAnswer(dict{{field, elements}})
}

// setTag reads and writes in two steps, between which others may write.
func (c *call) setTag() answer {
	c.mu.Lock()
	o, tags, bad := c.db.readTags(c.sent())
	hold := c.wait()
	c.mu.Unlock()
	if bad != nil {
		return c.refused(bad)
	}
	if hold != nil {
		select {
		case <-hold:
		case <-c.r.Context().Done():
			return answer{cut: true}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	if c.db.byUUID[o.uuid] != o {
		return c.refused(refuse(http.StatusNotFound, "Unknown id: %s", o.uuid))
	}
	if !sameTargets(o.refs["tag"], tags) {
		c.db.setRefs(o, "tag", tags)
		c.db.touch(o)
	}
	return jsonAnswer(dict{})
}

func sameTargets(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for uuid := range a {
		if _, ok := b[uuid]; !ok {
			return false
		}
	}
	return true
}

func (c *call) securityPolicyDraft() answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.commit()
	if bad := c.db.finishDrafts(c.sent()); bad != nil {
		return c.refused(bad)
	}
	return jsonAnswer(dict{})
}

// keyValue is a free store of texts.
func (c *call) keyValue() answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.sent().text("key")
	switch c.sent().text("operation") {
	case "STORE":
		c.kv[key], _ = c.sent().get("value")
		return emptyAnswer()
	case "DELETE":
		delete(c.kv, key)
		return emptyAnswer()
	}
	value, ok := c.kv[key]
	if !ok {
		return c.refused(refuse(http.StatusNotFound, "Unknown User-Agent key %s", key))
	}
	return jsonAnswer(dict{{"value", value}})
}
