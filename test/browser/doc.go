// Package browser opens the web page of netloom demo in headless Chromium, as a person would: with the mouse, with the
// keyboard alone, in the dark. It is a module of its own, so that netloom itself needs no driver of browsers.
//
// It knows the program by its command line and its page only. `make e2e-browser` runs it; Chromium has to be installed.
package browser
