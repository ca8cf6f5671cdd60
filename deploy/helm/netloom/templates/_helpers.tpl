{{- define "netloom.name" -}}
{{- if .Values.nameOverride -}}{{ .Values.nameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains "netloom" .Release.Name -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-netloom" .Release.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- /* The image of every container: that of the digest, or that of the tag. */ -}}
{{- define "netloom.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end -}}

{{- define "netloom.account" -}}
{{- .Values.serviceAccount.name | default (include "netloom.name" .) -}}
{{- end -}}

{{- define "netloom.selector" -}}
app.kubernetes.io/name: netloom
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- /* "true" where requests are answered over TLS, and where a token is asked for. */ -}}
{{- define "netloom.tls" -}}
{{- has (toString (index .Values.config "listen-tls")) (list "self" "files") -}}
{{- end -}}
{{- define "netloom.auth" -}}
{{- eq (toString (index .Values.config "listen-auth")) "kubernetes" -}}
{{- end -}}

{{- /* The port that debugging is served on, as a port of a container; nothing where there is none. */ -}}
{{- define "netloom.debug" -}}
{{- $at := "127.0.0.1:8082" -}}
{{- if hasKey .Values.config "debug-listen" }}{{ $at = toString (index .Values.config "debug-listen") }}{{ end -}}
{{- regexFind "[0-9]+$" $at -}}
{{- end -}}
{{- define "netloom.debug.port" -}}
{{- with include "netloom.debug" . -}}
- name: debug # on loopback, unless config says otherwise: for kubectl port-forward alone
  containerPort: {{ . }}
{{- end -}}
{{- end -}}

{{- define "netloom.labels" -}}
{{ include "netloom.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* A role with its binding: a cluster role unless it gets a namespace. Call it with a dict of root, feature and rules, and of account if it is not netloom's. */ -}}
{{- define "netloom.role" -}}
{{- $namespace := get . "namespace" -}}
{{- $prefix := ternary "" "Cluster" (ne $namespace "") -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}Role
metadata:
  name: {{ include "netloom.name" .root }}-{{ .feature }}
  {{- with $namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "netloom.labels" .root | nindent 4 }}
rules:
{{ .rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $prefix }}RoleBinding
metadata:
  name: {{ include "netloom.name" .root }}-{{ .feature }}
  {{- with $namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "netloom.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $prefix }}Role
  name: {{ include "netloom.name" .root }}-{{ .feature }}
subjects:
- kind: ServiceAccount
  name: {{ get . "account" | default (include "netloom.account" .root) }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}
