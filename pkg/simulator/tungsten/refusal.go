package tungsten

import (
	"fmt"
	"html"
	"net/http"
)

// refusal is an answer other than success.
type refusal struct {
	code int
	text string
	page bool // as an HTML page
}

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, text: fmt.Sprintf(format, args...)}
}

// crash is what the server answers when a handler fails: the last line of a traceback, or nothing in particular.
func crash(text string) *refusal {
	if text == "" {
		text = "Internal Server Error"
	}
	return refuse(http.StatusInternalServerError, "%s", text)
}

// errorPage is the page of the web framework.
func errorPage(code int, url, text string) string {
	title := fmt.Sprintf("Error: %d %s", code, http.StatusText(code))
	return `
    <!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
    <html>
        <head>
            <title>` + title + `</title>
            <style type="text/css">
              html {background-color: #eee; font-family: sans;}
              body {background-color: #fff; border: 1px solid #ddd;
                    padding: 15px; margin: 15px;}
              pre {background-color: #eee; border: 1px solid #ddd; padding: 5px;}
            </style>
        </head>
        <body>
            <h1>` + title + `</h1>
            <p>Sorry, the requested URL <tt>&#039;` + html.EscapeString(url) + `&#039;</tt>
               caused an error:</p>
            <pre>` + html.EscapeString(text) + `</pre>
        </body>
    </html>
`
}
