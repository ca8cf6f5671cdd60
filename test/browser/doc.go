// Package browser opens the web UI of netloom demo in headless Chromium, as a user would: with the mouse, with the
// keyboard alone, in dark mode. It is a separate module, so that netloom itself needs no browser driver.
//
// It uses only netloom's command line and page. `make e2e-browser` runs it; Chromium has to be installed.
// npm/check runs axe-core in every view.
package browser
