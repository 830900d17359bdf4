{{/* The one pod that every workload runs, with other arguments and settings. */}}

{{/*
Takes { root, component, args, settings, secrets, resources }, and { hasClaim } of a StatefulSet that
brings the data folder's volume.
*/}}
{{- define "sonde.podTemplate" -}}
{{- $values := .root.Values -}}
{{- $serves := ne .component "migration" -}}
metadata:
  # No version: an upgrade of the chart alone restarts nothing.
  labels:
    {{- include "sonde.selectorLabels" . | nindent 4 }}
    {{- if $serves }}
    sonde/ops: "true"
    {{- end }}
    {{- with $values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # Sonde calls no Kubernetes API.
  automountServiceAccountToken: false
  # Variables such as SONDE_API_PORT=tcp://… would be settings that Sonde does not know.
  enableServiceLinks: false
  {{- if $serves }}
  # Sonde stops within 25 s, after the pause of the API.
  terminationGracePeriodSeconds: 40
  {{- end }}
  {{- if not $serves }}
  restartPolicy: Never
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $serves }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "sonde.selectorLabels" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - {{ include "sonde.container" (merge (dict "serves" $serves) .) | indent 6 | trim }}
  volumes:
    {{- if not .hasClaim }}
    - name: data
      emptyDir: {}
    {{- end }}
    - name: secrets
      {{- include "sonde.secretsVolume" .secrets | nindent 6 }}
{{- end }}

{{- define "sonde.container" -}}
{{- $common := include "sonde.commonSettings" .root | fromYaml -}}
{{- /* Not an argument: commands such as `sonde doctor` need it, too. */ -}}
{{- if .serves }}
{{- $_ := set $common "SONDE_ROLES" .component }}
{{- end -}}
name: sonde
image: {{ include "sonde.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args:
  {{- toYaml .args | nindent 2 }}
env:
  {{- include "sonde.environment" (dict "settings" (merge (dict) $common .settings) "secrets" .secrets) | trim | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml .resources | nindent 2 }}
{{- if .serves }}
ports:
  {{- if eq .component "api" }}
  - name: http
    containerPort: {{ .settings.SONDE_PORT }}
  {{- end }}
  - name: ops
    containerPort: {{ $common.SONDE_OPS_PORT }}
# The ops server answers once the database is migrated and NATS is connected.
startupProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 2
  failureThreshold: 300
livenessProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 10
  timeoutSeconds: 5
# Sonde gives each of its checks 2 s.
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 5
  timeoutSeconds: 3
  failureThreshold: 2
{{- if eq .component "api" }}
# Meanwhile the cluster stops sending requests.
lifecycle:
  preStop:
    sleep: { seconds: 5 }
{{- end }}
{{- end }}
volumeMounts:
  - name: data
    mountPath: {{ $common.SONDE_DATA_DIR }}
  - name: secrets
    mountPath: {{ include "sonde.secretsFolder" . }}
    readOnly: true
{{- end }}
