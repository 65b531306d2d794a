{{/* RBAC rules. Each rule covers what the operator calls, and no more. */}}

{{/* Permissions of the operator in a managed namespace. */}}
{{- define "kedge.watchedRules" -}}
# ScaledObjects: watched, read live before a target is written, patched with a finalizer and a label.
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [get, list, watch, patch]
- apiGroups: [keda.sh]
  resources: [scaledobjects/status, scaledjobs/status, triggerauthentications/status]
  verbs: [patch]
# An HPA blocks the deletion of its owner, the ScaledObject; some clusters require this permission for that.
- apiGroups: [keda.sh]
  resources: [scaledobjects/finalizers]
  verbs: [update]
{{- if .Values.operator.scaledJobs.enabled }}
# ScaledJobs: watched, read for the environment variables of their containers, patched with a finalizer.
- apiGroups: [keda.sh]
  resources: [scaledjobs]
  verbs: [get, list, watch, patch]
# A Job blocks the deletion of its owner, too.
- apiGroups: [keda.sh]
  resources: [scaledjobs/finalizers]
  verbs: [update]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [get, list, watch, create, delete]
{{- else }}
- apiGroups: [keda.sh]
  resources: [scaledjobs]
  verbs: [list, watch]
{{- end }}
- apiGroups: [keda.sh]
  resources: [triggerauthentications]
  verbs: [get, list, watch, patch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [get, list, watch, create, update, delete]
# Targets: watched, and read for the environment variables of their containers.
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch]
- apiGroups: [apps]
  resources: [deployments/scale, statefulsets/scale]
  verbs: [get, update]
{{- if .Values.rbac.enabledCustomScaledRefKinds }}
{{- range .Values.rbac.scaledRefKinds }}
- apiGroups: [{{ .apiGroup | quote }}]
  resources: [{{ .kind | quote }}]
  verbs: [get, list, watch]
- apiGroups: [{{ .apiGroup | quote }}]
  resources: [{{ printf "%s/scale" .kind | quote }}]
  verbs: [get, update]
{{- end }}
{{- end }}
# Pods are counted for kubernetes-workload triggers and fallbacks{{ if .Values.operator.scaledJobs.enabled }}; those of Jobs are watched{{ end }}.
- apiGroups: [""]
  resources: [pods]
  verbs: {{ .Values.operator.scaledJobs.enabled | ternary "[list, watch]" "[list]" }}
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
# Read for TriggerAuthentications, environment variables and kubernetes-resource triggers; those of the first two are watched, as metadata only.
- apiGroups: [""]
  resources: [configmaps, serviceaccounts]
  verbs: [get, list, watch]
{{- if not .Values.permissions.operator.restrict.secret }}
{{ include "kedge.secretRules" . }}
{{- end }}
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if .Values.permissions.operator.restrict.allowAllServiceAccountTokenCreation }}
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
{{- end }}
{{- if and .Values.webhooks.enabled (not .Values.webhooks.ownDeployment) }}
# The webhooks check whether a limit range sets requests for containers without requests.
- apiGroups: [""]
  resources: [limitranges]
  verbs: [list, watch]
{{- end }}
{{- end }}

{{- define "kedge.secretRules" -}}
- apiGroups: [""]
  resources: [secrets]
  {{- with .Values.permissions.operator.restrict.namesAllowList }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [get, list, watch]
{{- end }}

{{/* Permissions of the webhooks. */}}
{{- define "kedge.webhooksRules" -}}
- apiGroups: [keda.sh]
  resources: [scaledobjects]
  verbs: [list, watch]
- apiGroups: [autoscaling]
  resources: [horizontalpodautoscalers]
  verbs: [list, watch]
- apiGroups: [apps]
  resources: [deployments, statefulsets]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [limitranges]
  verbs: [list, watch]
{{- end }}

{{/* Permissions to read the Secret of the certificates that the operator generates. */}}
{{- define "kedge.certificateReadRules" -}}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ .Values.certificates.secretName }}]
  verbs: [get, list, watch]
{{- end }}

{{/* What objects of the cluster need and no rule covers, although KEDA's default rules do: a line for each kind of target. Empty without a cluster. */}}
{{- define "kedge.uncoveredTargets" -}}
{{- $kinds := .Values.rbac.enabledCustomScaledRefKinds | ternary .Values.rbac.scaledRefKinds list }}
{{- $kinds = concat (list (dict "apiGroup" "apps" "kind" "deployments") (dict "apiGroup" "apps" "kind" "statefulsets")) $kinds }}
{{- $namespaces := splitList "," .Values.watchNamespace }}
{{- $found := dict }}
{{- if and .Values.rbac.create (.Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject") }}
{{- range (lookup "keda.sh/v1alpha1" "ScaledObject" "" "").items }}
{{- if or (not $.Values.watchNamespace) (has .metadata.namespace $namespaces) }}
{{- $kind := .spec.scaleTargetRef.kind | default "Deployment" }}
{{- $version := .spec.scaleTargetRef.apiVersion | default "apps/v1" }}
{{- $group := contains "/" $version | ternary (splitList "/" $version | first) "" }}
{{- $covered := false }}
{{- range $kinds }}
{{- /* The plural of a kind begins as the kind does: rollouts, policies. */ -}}
{{- if and (has .apiGroup (list "*" $group)) (or (eq .kind "*") (hasPrefix (lower $kind | trimSuffix "y") .kind)) }}
{{- $covered = true }}
{{- end }}
{{- end }}
{{- if not $covered }}
{{- $what := printf "%s of %s" $kind $version }}
{{- $_ := set $found $what (append (get $found $what | default list) (printf "%s/%s" .metadata.namespace .metadata.name)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- range $what, $objects := $found }}
  {{ $what }}: {{ $objects | sortAlpha | initial | len | eq 0 | ternary (first $objects) (printf "%s and %d more" (sortAlpha $objects | first) (sub (len $objects) 1)) }}
{{- end }}
{{- end }}
