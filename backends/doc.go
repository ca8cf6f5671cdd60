// Package backends defines what a system that netloom configures must be able to do, and what a plan for it looks like.
//
// A backend compares a snapshot of intents with one target and writes the difference. It lives in a directory of its
// own and is tested by backendtest, the contract that all of them pass. This package holds no implementation.
package backends
