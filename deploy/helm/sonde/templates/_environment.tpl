{{/* Settings as environment variables, and secret ones as files. */}}

{{/* Values are floating-point numbers: 1000000 would become 1e+06. */}}
{{- define "sonde.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* YAML reads the values of these as true and false. */}}
{{- define "sonde.onOffSettings" -}}
SONDE_CALL_METRICS SONDE_MIGRATE
{{- end }}

{{/* Takes { settings, secrets }, both by the names of docs/configuration.md. */}}
{{- define "sonde.environment" -}}
{{- range $setting, $value := .settings }}
{{- if and (kindIs "bool" $value) (has $setting (include "sonde.onOffSettings" $ | splitList " ")) }}
{{- $value = ternary "on" "off" $value }}
{{- end }}
- name: {{ $setting }}
  value: {{ include "sonde.text" $value | quote }}
{{- end }}
{{- range $setting, $_ := .secrets }}
- name: {{ $setting }}_FILE
  value: {{ include "sonde.secretsFolder" $ }}/{{ $setting }}
{{- end }}
{{- end }}

{{- define "sonde.secretsFolder" -}}
/run/secrets/sonde
{{- end }}

{{/* One folder of all secrets, each in a file named after its setting. */}}
{{- define "sonde.secretsVolume" -}}
projected:
  # 0440, for the group of the pod.
  defaultMode: 288
  sources:
    {{- range $setting, $from := . }}
    - {{ ternary "configMap" "secret" (hasKey $from "existingConfigMap") }}:
        name: {{ coalesce $from.existingSecret $from.existingConfigMap | quote }}
        items:
          - key: {{ default $setting $from.key | quote }}
            path: {{ $setting }}
    {{- end }}
{{- end }}

{{/* What every process is told. */}}
{{- define "sonde.commonSettings" -}}
SONDE_DATA_DIR: /data
SONDE_OPS_HOST: 0.0.0.0
SONDE_OPS_PORT: 9464
{{- end }}
