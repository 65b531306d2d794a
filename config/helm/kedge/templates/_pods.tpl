{{/* Parts that the pods of the operator and of the webhooks share. */}}

{{/* Arguments for certificates, shared by all components that serve TLS. */}}
{{- define "kedge.certificateArguments" -}}
{{- if include "kedge.makesCertificates" . }}
- --enable-cert-rotation=true
- --cert-secret-name={{ .Values.certificates.secretName }}
- --operator-service-name={{ .Values.operator.name }}
- --metrics-server-service-name={{ include "kedge.metricsApiName" . }}
- --webhooks-service-name={{ .Values.webhooks.name }}
- --k8s-cluster-domain={{ .Values.clusterDomain }}
- --validating-webhook-name=keda-admission
- --enable-webhook-patching={{ .Values.webhooks.enabled }}
- --enable-apiservice-patching={{ and .Values.metricsServer.enabled .Values.certificates.operator.apiServicePatching.enabled }}
{{- else }}
- --enable-cert-rotation=false
- --cert-dir={{ .Values.certificates.mountPath }}
{{- end }}
{{- end }}

{{/* Takes logging.COMPONENT. */}}
{{- define "kedge.loggingArguments" -}}
- --zap-log-level={{ .level }}
- --zap-encoder={{ .format }}
- --zap-time-encoding={{ .timeEncoding }}
{{- end }}

{{/* Takes extraArgs.COMPONENT. */}}
{{- define "kedge.extraArguments" -}}
{{- range $flag, $value := . }}
- {{ printf "--%s=%v" $flag $value | quote }}
{{- end }}
{{- end }}

{{/* Environment variables of all containers. */}}
{{- define "kedge.variables" -}}
- name: WATCH_NAMESPACE
  value: {{ .Values.watchNamespace | quote }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
- name: KEDA_SERVICE_MIN_TLS_VERSION
  value: {{ .Values.service.minTlsVersion }}
{{- with .Values.service.tlsCipherList }}
- name: KEDA_SERVICE_TLS_CIPHER_LIST
  value: {{ . | quote }}
{{- end }}
{{- end }}

{{/* A probe: takes path, and the timing. */}}
{{- define "kedge.probe" -}}
httpGet:
  path: {{ .path }}
  port: health
{{ toYaml .timing }}
{{- end }}

{{/* The mount of certificates that the operator does not generate. */}}
{{- define "kedge.certificateMount" -}}
{{- if not (include "kedge.makesCertificates" .) }}
- name: certificates
  mountPath: {{ .Values.certificates.mountPath }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "kedge.certificateVolume" -}}
{{- if not (include "kedge.makesCertificates" .) }}
- name: certificates
  secret:
    secretName: {{ .Values.certificates.secretName }}
    # 0440: readable by the group.
    defaultMode: 288
{{- end }}
{{- end }}

{{/* Labels and annotations of a pod: takes root, app, labels, annotations. */}}
{{- define "kedge.podMetadata" -}}
metadata:
  labels:
    app: {{ .app }}
    app.kubernetes.io/name: {{ .app }}
    {{- include "kedge.labels" .root | nindent 4 }}
    {{- with .labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with merge (dict) .annotations .root.Values.additionalAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Where and how a pod runs: takes root, component (operator or webhooks values), key (its name in maps by component). */}}
{{- define "kedge.podPlace" -}}
enableServiceLinks: {{ .root.Values.enableServiceLinks }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
hostNetwork: {{ .component.useHostNetwork }}
dnsPolicy: {{ .component.dnsPolicy }}
{{- with .component.dnsConfig | default .root.Values.global.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.hostAliases }}
hostAliases:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .component.affinity | default .root.Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with index .root.Values.topologySpreadConstraints .key }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml (index .root.Values.podSecurityContext .key) | nindent 2 }}
{{- end }}
