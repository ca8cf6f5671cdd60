package tungsten

import (
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// listQuery is what a request for a list asks for, as texts.
type listQuery struct {
	params  map[string]string
	base    string
	filters map[string][]any
	limit   int // of a page; 0 for no pages
	after   string
}

// has reports whether a flag is set.
func (q *listQuery) has(name string) bool {
	v, ok := q.params[name]
	return ok && !strings.EqualFold(v, "false")
}

// values splits a list in a parameter; ok is false if it is absent.
func (q *listQuery) values(name string) (out []string, ok bool) {
	v, ok := q.params[name]
	if !ok || v == "" {
		return nil, false
	}
	return strings.Split(v, ","), true
}

// parse checks the parameters that can be wrong.
func (q *listQuery) parse() *refusal {
	if sent, ok := q.params["filters"]; ok && sent != "" {
		q.filters = make(map[string][]any)
		for _, part := range strings.Split(sent, ",") {
			key, value, found := strings.Cut(part, "==")
			if !found || strings.Contains(value, "==") {
				return refuse(http.StatusBadRequest, "Invalid filter %s", sent)
			}
			parsed, err := decode([]byte(value))
			if err != nil {
				parsed = value
			}
			if _, isObject := parsed.(dict); isObject {
				return refuse(http.StatusBadRequest, "Invalid filter %s", sent)
			}
			q.filters[key] = append(q.filters[key], parsed)
		}
	}
	limit := 256
	if sent, ok := q.params["page_limit"]; ok {
		n, err := strconv.Atoi(sent)
		if err != nil || n <= 0 {
			return refuse(http.StatusBadRequest, "Invalid page_limit %s: page_limit has to be greater than zero", sent)
		}
		limit = n
	}
	marker, ok := q.params["page_marker"]
	if !ok {
		return nil
	}
	q.limit = limit
	if marker == "None" {
		return nil
	}
	if !isUUID(marker[strings.LastIndex(marker, ":")+1:]) {
		return refuse(http.StatusBadRequest, "Invalid page_marker %s: badly formed hexadecimal UUID string", marker)
	}
	q.after = marker
	return nil
}

// listObjects answers a request for a list.
func (db *database) listObjects(k *kind, q *listQuery) (dict, *refusal) {
	if bad := q.parse(); bad != nil {
		return nil, bad
	}
	found := db.selectObjects(k, q)
	if len(q.filters) > 0 {
		found = slices.DeleteFunc(slices.Clone(found), func(o *object) bool { return !o.passes(q.filters) })
	}
	if q.has("count") {
		return dict{{k.collection(), dict{{"count", len(found)}}}}, nil
	}
	var marker any
	if q.limit > 0 {
		start := sort.Search(len(found), func(i int) bool { return found[i].order() > q.after })
		found = found[start:]
		if len(found) >= q.limit {
			found = found[:q.limit]
			marker = found[q.limit-1].order()
		}
	}
	fields, _ := q.values("fields")
	v := view{base: q.base, fields: fields, parent: len(fields) > 0}
	detail := q.has("detail")
	if detail {
		v.all, v.name, v.parent = true, true, true
	}
	list := make([]any, len(found))
	for i, o := range found {
		if detail {
			list[i] = dict{{k.name, db.render(o, v)}}
		} else {
			list[i] = db.render(o, v)
		}
	}
	out := dict{{k.collection(), list}}
	if q.limit > 0 {
		out = append(out, member{"marker", marker})
	}
	return out, nil
}

// selectObjects returns the objects that the selectors of q leave, in the order of plain lists.
func (db *database) selectObjects(k *kind, q *listQuery) []*object {
	sets := db.selections(k, q)
	if len(sets) == 0 {
		return db.list(k)
	}
	var out []*object
	for uuid, o := range sets[0] {
		if slices.ContainsFunc(sets[1:], func(s map[string]*object) bool { return s[uuid] == nil }) {
			continue
		}
		out = append(out, o)
	}
	return sorted(out)
}

// selections are the sets of objects that the selectors of q name, each by an index.
func (db *database) selections(k *kind, q *listQuery) []map[string]*object {
	var sets []map[string]*object
	add := func(name string, each func(value string, set map[string]*object)) {
		values, ok := q.values(name)
		if !ok {
			return
		}
		set := make(map[string]*object)
		for _, v := range values {
			each(v, set)
		}
		sets = append(sets, set)
	}
	add("obj_uuids", func(v string, set map[string]*object) {
		if o := db.byUUID[v]; o != nil && o.kind == k {
			set[v] = o
		}
	})
	add("fq_names", func(v string, set map[string]*object) {
		if o := db.byName[k][v]; o != nil {
			set[o.uuid] = o
		}
	})
	add("parent_id", func(v string, set map[string]*object) {
		if parent := db.byUUID[v]; parent != nil {
			for uuid, o := range parent.children[k.name] {
				set[uuid] = o
			}
		}
	})
	add("back_ref_id", func(v string, set map[string]*object) {
		if target := db.byUUID[v]; target != nil {
			for uuid, o := range target.backRefs[k.name] {
				set[uuid] = o
			}
		}
	})
	add("parent_fq_name_str", func(v string, set map[string]*object) {
		for _, parentKind := range k.parents {
			if t := q.params["parent_type"]; t != "" && t != parentKind {
				continue
			}
			if parent := db.byName[db.kinds[parentKind]][v]; parent != nil {
				for uuid, o := range parent.children[k.name] {
					set[uuid] = o
				}
			}
		}
	})
	return sets
}

// passes reports whether an object has one of the values of every filter on a property of its kind.
func (o *object) passes(filters map[string][]any) bool {
	for key, values := range filters {
		p := o.kind.props[key]
		if p == nil {
			continue
		}
		value, _ := o.property(key)
		if !slices.ContainsFunc(values, func(want any) bool { return p.class == nil && want == value }) {
			return false
		}
	}
	return true
}
