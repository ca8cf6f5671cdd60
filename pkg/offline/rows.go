package offline

import (
	"context"

	"github.com/netloom/netloom/backends/builtin"
	"github.com/netloom/netloom/pkg/ovsdb"
	"github.com/netloom/netloom/pkg/ovsdb/nbtrace"
)

// Database is a connection to a Northbound database that only reads: it takes no lock, and any server of a cluster will do.
type Database struct {
	client *ovsdb.Client
	cancel context.CancelFunc
	done   chan error
}

// OpenDatabase begins to connect to the database of the settings.
func OpenDatabase(ctx context.Context, settings *builtin.Settings) (*Database, error) {
	client, err := ovsdb.New(ovsdb.Options{
		Endpoints: settings.OVN.Endpoints, TLS: settings.OVN.TLS, MaxReply: settings.OVN.MaxReply, Log: settings.Log,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	d := &Database{client: client, cancel: cancel, done: make(chan error, 1)}
	go func() { d.done <- client.Run(ctx) }()
	return d, nil
}

// Rows reads the rows that decide on packets, as they are at one moment. It waits a while for a connection.
func (d *Database) Rows(ctx context.Context) (nbtrace.Rows, error) {
	var rows nbtrace.Rows
	err := whenConnected(ctx, func() error {
		var err error
		rows, err = nbtrace.Load(ctx, d.client)
		return err
	})
	return rows, err
}

// Close ends the connection.
func (d *Database) Close() error {
	d.cancel()
	return <-d.done
}
