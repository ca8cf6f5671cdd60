package acllog

import (
	"strings"
	"time"
)

// stamp reads the time of a line from what stands before its number: the stamp of ovn-controller itself, or that of the
// container runtime or of journalctl before it. It returns the zero time if there is none.
func stamp(head string, now time.Time) time.Time {
	if own := head[strings.LastIndexByte(head, ' ')+1:]; own != "" {
		if at, err := time.Parse(time.RFC3339, own); err == nil {
			return at
		}
	}
	first, _, _ := strings.Cut(head, " ")
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999999-0700"} {
		if at, err := time.Parse(layout, first); err == nil {
			return at
		}
	}
	return yearless(head, now)
}

// yearless reads the stamp of syslog, "Mar  2 10:15:07", as the last such time up to a day after now.
func yearless(head string, now time.Time) time.Time {
	if len(head) < len(time.Stamp) {
		return time.Time{}
	}
	at, err := time.ParseInLocation(time.Stamp, head[:len(time.Stamp)], now.Location())
	if err != nil {
		return time.Time{}
	}
	at = time.Date(now.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location())
	if at.After(now.AddDate(0, 0, 1)) {
		at = at.AddDate(-1, 0, 0)
	}
	return at
}
