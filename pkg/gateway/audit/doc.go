// Package audit writes audit events in the format of Kubernetes, a JSON object a line, without holding up the requests that they are about.
package audit
