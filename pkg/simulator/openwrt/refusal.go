package openwrt

import "fmt"

// refusal is an answer other than success. Its text is sent without any escaping.
type refusal struct {
	code int
	text string
	raw  bool // the text is the whole body, not a message
}

// refuse makes a refusal with a message.
func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// fault is the answer of a script that aborts: its interpreter's message and a trace, as plain text.
func fault(file, message string) *refusal {
	where := "/usr/lib/lua/luci/controller/rest_v1/" + file + ".lua"
	return &refusal{code: 500, raw: true, text: where + ":28: " + message +
		"\nstack traceback:\n\t[C]: in function 'assert'\n\t" + where + ":28: in function <" + where + ":20>\n\t(tail call): ?"}
}

// died reports whether the script aborted.
func (r *refusal) died() bool { return r != nil && r.raw && r.code == 500 }
