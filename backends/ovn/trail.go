package ovn

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netloom/netloom/backends"
	"github.com/netloom/netloom/backends/ovn/internal/nb"
)

// shortestUUID is how many leading characters of a UUID are needed to identify a row.
const shortestUUID = 8

// Trails implements backends.RowTracer. It reads the whole tables.
func (b *Backend) Trails(ctx context.Context, what string) ([]backends.Trail, error) {
	if !b.client.Connected() {
		return nil, fmt.Errorf("look for %s: %w: %w", what, backends.ErrUnreachable, b.client.NotConnected())
	}
	rows, err := b.database().read(ctx, nil, nb.Tables()...)
	if err != nil {
		return nil, err
	}
	all := nb.Rows{}
	all.Put(rows...)
	users, notes := usersOf(all), mentionedIn(all)
	var out []backends.Trail
	for _, uuid := range slices.Sorted(maps.Keys(all)) {
		r := all[uuid]
		if begins := len(what) >= shortestUUID && strings.HasPrefix(uuid, what); r.Name != what && !begins {
			continue
		}
		if origins := originsOf(uuid, all, users, notes); r.Owner() != "" || len(origins) > 0 {
			out = append(out, trailOf(r, origins))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: no row has the name %q, or a UUID that begins with it", backends.ErrNoRow, what)
	}
	return out, nil
}

func trailOf(r *nb.Row, origins []string) backends.Trail {
	t := backends.Trail{
		Table: r.Table, UUID: r.UUID, Name: r.Name, Owner: r.Owner(), Title: r.Origin, Origins: origins,
		Row: r.Columns(),
	}
	if slices.Contains(origins, t.Title) {
		t.Title = ""
	}
	return t
}

// usersOf finds for each row those that refer to it: port groups are used by their ACLs, opposite to the direction of
// the reference, and address sets, meters and template variables are referred to by name.
func usersOf(all nb.Rows) map[string][]string {
	users := map[string][]string{}
	named := map[string]string{} // address sets as in a match, meters, variables, to UUIDs
	for uuid, r := range all {
		switch r.Table {
		case nb.TableAddressSet:
			named["$"+r.Name] = uuid
		case nb.TableMeter:
			named[r.Name] = uuid
		}
		for variable := range r.Maps[nb.ColumnVariables] {
			named["^"+variable+" "+uuid] = uuid
		}
	}
	for uuid, r := range all {
		switch r.Table {
		case nb.TablePortGroup:
			users[uuid] = append(users[uuid], r.Sets["acls"]...)
		case nb.TableMeter:
			for _, band := range r.Sets["bands"] {
				users[band] = append(users[band], uuid)
			}
		case nb.TableLoadBalancerGroup:
			users[uuid] = append(users[uuid], r.Sets[nb.ColumnLoadBalancer]...)
		case nb.TableLoadBalancer:
			for _, word := range wordsOf(r.Maps["vips"]) {
				for key, vars := range named {
					if strings.HasPrefix(key, word+" ") {
						users[vars] = append(users[vars], uuid)
					}
				}
			}
		case nb.TableACL:
			meter, _ := r.Fields["meter"].(string)
			for _, name := range append(strings.Fields(r.Match()), meter) {
				if referred := named[name]; referred != "" {
					users[referred] = append(users[referred], uuid)
				}
			}
		}
	}
	return users
}

// wordsOf lists the variables, with their ^, that VIPs and their backends name.
func wordsOf(vips map[string]string) []string {
	var out []string
	for vip, backend := range vips {
		for _, text := range []string{vip, backend} {
			if rest, ok := strings.CutPrefix(text, "^"); ok {
				name, _, _ := strings.Cut(rest, ":")
				out = append(out, "^"+name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// originsOf follows users to the rows that name source objects.
func originsOf(uuid string, all nb.Rows, users map[string][]string, notes mentioned) []string {
	found, seen := map[string]bool{}, map[string]bool{}
	var follow func(string)
	follow = func(uuid string) {
		r := all[uuid]
		if r == nil || seen[uuid] {
			return
		}
		seen[uuid] = true
		if r.Owner() != "" && (r.Table == nb.TableACL || r.Table == nb.TableLoadBalancer) {
			also := notes.of(uuid, r.Match())
			if len(also) == 0 || r.ExternalIDs()[nb.KeyKind] != "" {
				found[r.Origin] = true
			}
			for _, also := range also {
				found[also] = true
			}
		}
		for _, u := range users[uuid] {
			follow(u)
		}
	}
	follow(uuid)
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}
