{{/* Values of KEDA's chart that have no effect in Kedge. */}}

{{/* The value at a dotted path, as JSON; empty if it is not set. */}}
{{- define "kedge.at" -}}
{{- $here := .values }}
{{- range splitList "." .path }}
{{- if and (kindIs "map" $here) (hasKey $here .) }}
{{- $here = index $here . }}
{{- else }}
{{- $here = "" }}
{{- end }}
{{- end }}
{{- if not (kindIs "string" $here) }}{{ toJson $here }}{{ else if $here }}{{ toJson $here }}{{ end }}
{{- end }}

{{/* A line for each value that is set. Takes root, then: ignored or refused. */}}
{{- define "kedge.kedaValues" -}}
{{- $asked := .then }}
{{- range .root.Files.Get "files/keda-values.yaml" | fromYamlArray }}
{{- if eq .then $asked }}
{{- $set := include "kedge.at" (dict "values" $.root.Values "path" .value) }}
{{- if not (or (eq $set "") (and (eq $asked "refused") (has $set (list "false" "0" "{}" "[]" "null")))) }}
  {{ .value }}: {{ .because }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $asked "refused" }}
{{- if contains "kedacore/" .root.Values.image.keda.repository }}
  image.keda.repository: {{ .root.Values.image.keda.repository }} is KEDA; leave image.keda out, or set a mirror of Kedge's image
{{- end }}
{{- with .root.Values.webhooks }}
{{- if and .useHostNetwork (not .ownDeployment) }}
  webhooks.useHostNetwork: the webhooks run in the operator's pod; set webhooks.ownDeployment too, or operator.useHostNetwork
{{- end }}
{{- end }}
{{- end }}
{{- end }}
