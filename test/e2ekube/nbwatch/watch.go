package nbwatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// database is the monitored database.
const database = "OVN_Northbound"

// Watch is a monitoring connection. It can be used until Close.
type Watch struct {
	nc      net.Conn
	encoder *json.Encoder
	decoder *json.Decoder
	notify  func(Change)
	known   map[string]map[string]string // external_ids of the existing rows, by UUID
	number  int
	done    chan struct{}
	err     error // why it ended; read after done
}

// message is a request, a reply or a notification, depending on its fields.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
}

// Start monitors tables of a server, tcp:HOST:PORT or unix:PATH, and calls notify for every change of a row from now on,
// one after the other. Existing rows are remembered but not reported.
func Start(ctx context.Context, endpoint string, notify func(Change), tables ...string) (*Watch, error) {
	network, address, _ := strings.Cut(endpoint, ":")
	nc, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", endpoint, err)
	}
	w := &Watch{
		nc: nc, encoder: json.NewEncoder(nc), decoder: json.NewDecoder(nc), notify: notify,
		known: map[string]map[string]string{}, done: make(chan struct{}),
	}
	if err := w.monitor(tables); err != nil {
		_ = nc.Close()
		return nil, fmt.Errorf("watch %s: %w", endpoint, err)
	}
	go func() {
		defer close(w.done)
		w.err = w.follow()
	}()
	return w, nil
}

// Err is why the watch ended by itself; nil while it runs.
func (w *Watch) Err() error {
	select {
	case <-w.done:
		return w.err
	default:
		return nil
	}
}

// Close ends the watch and returns an error if it had already ended or failed.
func (w *Watch) Close() error {
	if err := w.Err(); err != nil {
		_ = w.nc.Close()
		return err
	}
	_ = w.nc.Close()
	<-w.done
	if errors.Is(w.err, net.ErrClosed) {
		return nil
	}
	return w.err
}

// monitor requests all columns of tables and reads the existing rows.
func (w *Watch) monitor(tables []string) error {
	requests := map[string]any{}
	for _, t := range tables {
		requests[t] = []any{map[string]any{}}
	}
	err := w.encoder.Encode(map[string]any{"id": "watch", "method": "monitor_cond", "params": []any{database, "watch", requests}})
	if err != nil {
		return err
	}
	for {
		var m message
		if err := w.decoder.Decode(&m); err != nil {
			return err
		}
		switch {
		case m.Method == "echo":
			if err := w.echo(m); err != nil {
				return err
			}
		case m.Error != nil:
			return fmt.Errorf("monitor: %v", m.Error)
		case m.Method == "":
			_, err := w.take(m.Result, time.Time{})
			return err
		}
	}
}

// follow reads until the connection ends.
func (w *Watch) follow() error {
	for {
		var m message
		if err := w.decoder.Decode(&m); err != nil {
			return err
		}
		at := time.Now()
		switch m.Method {
		case "echo":
			if err := w.echo(m); err != nil {
				return err
			}
		case "update2":
			var params []json.RawMessage
			if err := json.Unmarshal(m.Params, &params); err != nil || len(params) != 2 {
				return fmt.Errorf("update2 %.100s: expected two parameters", m.Params)
			}
			changes, err := w.take(params[1], at)
			if err != nil {
				return err
			}
			for i, c := range changes {
				c.Last = i == len(changes)-1
				w.notify(c)
			}
		}
	}
}

func (w *Watch) echo(m message) error {
	return w.encoder.Encode(map[string]any{"id": m.ID, "result": m.Params, "error": nil})
}

// update is a change of one row: one of its fields is set, or none if the row was deleted.
type update struct {
	Initial row `json:"initial"`
	Insert  row `json:"insert"`
	Modify  row `json:"modify"`
}

// take reads an update of tables, in the order of their names and UUIDs.
func (w *Watch) take(raw json.RawMessage, at time.Time) ([]Change, error) {
	var tables map[string]map[string]update
	if err := json.Unmarshal(raw, &tables); err != nil {
		return nil, fmt.Errorf("update %.100s: %w", raw, err)
	}
	w.number++
	var all []Change
	for table, rows := range tables {
		for id, u := range rows {
			c := Change{At: at, Number: w.number, Table: table, UUID: id}
			switch {
			case u.Initial != nil:
				c.Verb, c.row = Inserted, u.Initial
			case u.Insert != nil:
				c.Verb, c.row = Inserted, u.Insert
			case u.Modify != nil:
				c.Verb, c.row = Modified, u.Modify
			default:
				c.Verb = Deleted
			}
			c.ExternalIDs = w.identify(&c)
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(a.Table+a.UUID, b.Table+b.UUID) })
	return all, nil
}

// identify keeps the external_ids of rows up to date and returns those of the changed one. For a map, a modification has
// the pairs that were added, removed or changed; which of them does not matter here, so the first value stays.
func (w *Watch) identify(c *Change) map[string]string {
	ids := w.known[c.UUID]
	switch c.Verb {
	case Deleted:
		delete(w.known, c.UUID)
	case Inserted:
		ids = c.pairs("external_ids")
		w.known[c.UUID] = ids
	case Modified:
	}
	return ids
}
