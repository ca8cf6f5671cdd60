{{- define "netloom.webhook" -}}{{ include "netloom.name" . }}-webhook{{- end -}}

{{- define "netloom.webhook.selector" -}}
app.kubernetes.io/name: netloom-webhook
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* The account that answers reviews. */ -}}
{{- define "netloom.webhook.account" -}}
{{- if eq .Values.webhook.mode "own" }}{{ include "netloom.webhook" . }}{{ else }}{{ include "netloom.account" . }}{{ end -}}
{{- end -}}

{{- /* Settings that the chart passes to the process that answers reviews. All others are in config. */ -}}
{{- define "netloom.webhook.env" -}}
- {name: NETLOOM_WEBHOOK_LISTEN, value: ":9443"}
{{- with .Values.webhook.certificate.secret }}
- {name: NETLOOM_WEBHOOK_TLS_CERT, value: /etc/netloom/webhook/tls.crt}
- {name: NETLOOM_WEBHOOK_TLS_KEY, value: /etc/netloom/webhook/tls.key}
{{- else }}
- {name: NETLOOM_WEBHOOK_TLS_SECRET, value: {{ printf "%s/%s" .Release.Namespace (include "netloom.webhook" .) | quote }}}
- {name: NETLOOM_WEBHOOK_TLS_SERVICE, value: {{ printf "%s/%s" .Release.Namespace (include "netloom.webhook" .) | quote }}}
- {name: NETLOOM_WEBHOOK_CONFIGURATION, value: {{ include "netloom.webhook" . | quote }}}
{{- if .Values.webhook.readinessGate }}
- {name: NETLOOM_WEBHOOK_MUTATING_CONFIGURATION, value: {{ include "netloom.webhook" . | quote }}}
{{- end }}
{{- end }}
- {name: NETLOOM_WEBHOOK_EXEMPT_GROUP, value: {{ join "," .Values.webhook.exemptGroups | quote }}}
{{- with .Values.webhook.exemptUsers }}
- {name: NETLOOM_WEBHOOK_EXEMPT_USER, value: {{ join "," . | quote }}}
{{- end }}
{{- end -}}

{{- define "netloom.webhook.mount" -}}
- name: webhook-tls
  mountPath: /etc/netloom/webhook
  readOnly: true
{{- end -}}

{{- define "netloom.webhook.volume" -}}
- name: webhook-tls
  secret:
    secretName: {{ .Values.webhook.certificate.secret }}
    defaultMode: 0440
    optional: true # it may come later
{{- end -}}

{{- /* A role with its binding, of the namespace or of the cluster. Call it with a dict of root, name, prefix (Cluster or nothing), account, annotations and rules. */ -}}
{{- define "netloom.webhook.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .prefix }}Role
metadata:
  name: {{ .name }}
  {{- if not .prefix }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "netloom.labels" .root | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
rules:
  {{- .rules | nindent 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .prefix }}RoleBinding
metadata:
  name: {{ .name }}
  {{- if not .prefix }}
  namespace: {{ .root.Release.Namespace }}
  {{- end }}
  labels:
    {{- include "netloom.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .prefix }}Role
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}
