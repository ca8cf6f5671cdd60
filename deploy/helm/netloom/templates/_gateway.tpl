{{- define "netloom.gateway" -}}{{ include "netloom.name" . }}-gateway{{- end -}}

{{- /* The account that a gateway uses in a cluster that it serves. */ -}}
{{- define "netloom.upstream" -}}{{ include "netloom.name" . }}-gateway-upstream{{- end -}}

{{- define "netloom.gateway.selector" -}}
app.kubernetes.io/name: netloom-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* "true" if the gateway uses a setting. */ -}}
{{- define "netloom.gateway.setting" -}}
{{- or (hasPrefix "gateway-" .) (has . (list "log-level" "log-format")) -}}
{{- end -}}

{{- /* The settings of the gateway. They are variables, so that only changes that concern it restart its pods. */ -}}
{{- define "netloom.gateway.env" -}}
- {name: NETLOOM_GATEWAY_LISTEN, value: ":6443"}
{{- if .Values.gateway.tlsSecret }}
- {name: NETLOOM_GATEWAY_TLS_CERT, value: /etc/netloom/gateway/tls.crt}
- {name: NETLOOM_GATEWAY_TLS_KEY, value: /etc/netloom/gateway/tls.key}
{{- end }}
{{- if .Values.gateway.frontProxySecret }}
- {name: NETLOOM_GATEWAY_FRONT_PROXY_CA, value: /etc/netloom/front-proxy/ca.crt}
{{- end }}
{{- range $key, $value := .Values.config }}
{{- if eq (include "netloom.gateway.setting" $key) "true" }}
- {name: NETLOOM_{{ $key | upper | replace "-" "_" }}, value: {{ join "," $value | quote }}}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The rules of a role that the chart shares with deploy/kustomize. Call it with the text of its file. */ -}}
{{- define "netloom.rules" -}}
{{- range splitList "\n---\n" . -}}
{{- with fromYaml . -}}
{{- if hasKey . "rules" }}{{ toYaml .rules }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
