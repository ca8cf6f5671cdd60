// Package intents is a snapshot as data: what the objects were translated to, in a form with stable JSON names.
package intents
