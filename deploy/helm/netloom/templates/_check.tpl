{{- /* What the schema cannot see and netloom would not start with. It renders nothing. */ -}}
{{- define "netloom.check" -}}
{{- $zone := eq .Values.mode "zone" }}
{{- if ne .Values.mode "none" }}
{{- $database := or (index .Values.config "ovn-nb") (and $zone .Values.zone.endpoint) }}
{{- if $database }}
{{- if not (index .Values.config "ovn-port-names") }}
{{- fail "config.ovn-port-names: expected how the network plugin names logical ports: kube-ovn, nodus, ovn-kubernetes or a template, as netloom protects no pod without its port" }}
{{- end }}
{{- else if $zone }}
{{- fail "config.ovn-nb: expected the address of the Northbound database of each node, such as unix:/run/ovn/ovnnb_db.sock; or set zone.endpoint" }}
{{- else if not (or (index .Values.config "tungsten") (eq (toString (index .Values.config "sdewan")) "true")) }}
{{- fail "config.ovn-nb: expected the address of the Northbound database, such as tcp:10.0.0.1:6641; or set config.tungsten, or config.sdewan to true" }}
{{- end }}
{{- end }}
{{- if $zone }}
{{- if eq (toString (index .Values.config "sdewan")) "true" }}
{{- fail "config.sdewan: expected false with mode zone, as every node's netloom would write to every CNF" }}
{{- end }}
{{- if eq (toString (index .Values.config "policy-events")) "true" }}
{{- fail "config.policy-events: expected false with mode zone, as every node's netloom would create Events for every policy" }}
{{- end }}
{{- if index .Values.config "tungsten" }}
{{- fail "config.tungsten: expected nothing with mode zone, as every node's netloom would write to the same controller" }}
{{- end }}
{{- if index .Values.config "ui-listen" }}
{{- fail "config.ui-listen: expected nothing with mode zone, as each netloom knows what one node enforces" }}
{{- end }}
{{- end }}
{{- if and .Values.webhook.enabled .Values.webhook.readinessGate (ne (toString (index .Values.config "readiness")) "true") }}
{{- fail "webhook.readinessGate: expected config.readiness true, as pods with the gate would never be ready" }}
{{- end }}
{{- if eq .Values.mode "none" }}
{{- if not (or .Values.gateway.enabled .Values.upstream.enabled) }}
{{- fail "mode: none installs only what gateway.enabled and upstream.enabled ask for, and both are false" }}
{{- end }}
{{- if .Values.webhook.enabled }}
{{- fail "webhook.enabled: expected false with mode none" }}
{{- end }}
{{- range $key, $value := .Values.config }}
{{- if ne (include "netloom.gateway.setting" $key) "true" }}
{{- fail (printf "config.%s: expected nothing with mode none, as the gateway does not use it" $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (index .Values.config "gateway-front-proxy-names") (not .Values.gateway.frontProxySecret) }}
{{- fail "gateway.frontProxySecret: expected the Secret with ca.crt, as config has gateway-front-proxy-names" }}
{{- end }}
{{- $tls := toString (index .Values.config "listen-tls") }}
{{- if and (eq (include "netloom.auth" .) "true") (ne (include "netloom.tls" .) "true") }}
{{- fail "config.listen-auth: kubernetes needs listen-tls self or files, as others could read the tokens on their way" }}
{{- end }}
{{- range $key := list "listen-cert" "listen-key" }}
{{- $file := toString (index $.Values.config $key | default "") }}
{{- if and (eq $tls "files") (not $file) }}
{{- fail (printf "config.%s: expected a file below /etc/netloom/listen with listen-tls files" $key) }}
{{- end }}
{{- if and $file (ne $tls "files") }}
{{- fail (printf "config.%s: expected nothing without listen-tls files" $key) }}
{{- end }}
{{- if and $file (not $.Values.listenTLSSecret) (not (hasPrefix "/etc/netloom/tls/" $file)) }}
{{- fail (printf "listenTLSSecret: expected the Secret with %s of config" $key) }}
{{- end }}
{{- end }}
{{- end -}}
