{{/* Refuses, in plain words, what the schema cannot see. */}}

{{- define "sonde.check" -}}
{{- if not (or .Values.hub.enabled .Values.agents.enabled) }}
{{- fail "nothing to install: set hub.enabled, agents.enabled, or both" }}
{{- end }}
{{- if not .Values.image.repository }}
{{- fail "image.repository is missing: name the repository of the image that deploy/Dockerfile builds" }}
{{- end }}
{{- if .Values.hub.enabled }}
{{- include "sonde.checkSection" (dict "name" "hub" "section" .Values.hub "required" (list "SONDE_MASTER_KEY" "SONDE_DATABASE_URL")) }}
{{- end }}
{{- if .Values.agents.enabled }}
{{- if not .Values.agents.location }}
{{- fail "agents.location is missing: give the id of a location, as `sonde locations list` shows it" }}
{{- end }}
{{- include "sonde.checkSection" (dict "name" "agents" "section" .Values.agents "required" (list "SONDE_LOCATION_KEY")) }}
{{- end }}
{{- end }}

{{/* Takes { name, section, required }. */}}
{{- define "sonde.checkSection" -}}
{{- $name := .name }}
{{- $secrets := .section.secrets }}
{{- range .required }}
{{- if not (hasKey $secrets .) }}
{{- fail (printf "%s.secrets.%s is missing: name the Secret that holds it, as { existingSecret: NAME, key: KEY }" $name .) }}
{{- end }}
{{- end }}
{{- if eq (not (empty .section.natsUrl)) (hasKey $secrets "SONDE_NATS_URL") }}
{{- fail (printf "set either %s.natsUrl, without credentials, or %s.secrets.SONDE_NATS_URL" $name $name) }}
{{- end }}
{{- if contains "@" .section.natsUrl }}
{{- fail (printf "%s.natsUrl contains credentials: put the URL into a Secret and name that in %s.secrets.SONDE_NATS_URL" $name $name) }}
{{- end }}
{{- range .section.natsUrl | splitList "," | compact }}
{{- if not (regexMatch "^(nats|tls)://[^/,]+/?$" .) }}
{{- fail (printf "%s.natsUrl: '%s' is not nats://host:port or tls://host:port" $name .) }}
{{- end }}
{{- end }}
{{- range .section.egressAllow }}
{{- if not (regexMatch "^((localhost|[0-9.]+(/[0-9]+)?)(:[0-9]+)?|[0-9a-fA-F:.]+(/[0-9]+)?|\\[[0-9a-fA-F:.]+(/[0-9]+)?\\](:[0-9]+)?)$" .) }}
{{- fail (printf "%s.egressAllow: '%s' is not an address, a range (10.0.0.0/8) or localhost, each with an optional port (10.0.0.1:8080, [fd00::1]:8080)" $name .) }}
{{- end }}
{{- end }}
{{- include "sonde.checkSettings" . }}
{{- end }}

{{/* Takes { name, section }. */}}
{{- define "sonde.checkSettings" -}}
{{- $secret := list }}
{{- $taken := list }}
{{- range $setting, $_ := .section.settings }}
{{- if not (hasPrefix "SONDE_" $setting) }}
{{- fail (printf "%s.settings.%s is not a setting of Sonde: docs/configuration.md lists them" $.name $setting) }}
{{- else if has (trimSuffix "_FILE" $setting) (include "sonde.secretSettings" $ | splitList " ") }}
{{- $secret = append $secret $setting }}
{{- else if has $setting (include "sonde.takenSettings" $ | splitList " ") }}
{{- $taken = append $taken $setting }}
{{- end }}
{{- end }}
{{- with $secret }}
{{- fail (printf "%s.settings has secrets (%s): name Secrets that hold them in %s.secrets, as { existingSecret: NAME, key: KEY }" $.name (join ", " .) $.name) }}
{{- end }}
{{- with $taken }}
{{- fail (printf "%s.settings has what other values set or the chart decides: %s" $.name (join ", " .)) }}
{{- end }}
{{- end }}

{{- define "sonde.secretSettings" -}}
SONDE_MASTER_KEY SONDE_MASTER_KEYS_OLD SONDE_BOOTSTRAP_KEY SONDE_API_KEY SONDE_DATABASE_URL SONDE_LOCATION_KEY SONDE_NATS_URL SONDE_NATS_NKEY SONDE_NATS_CREDENTIALS SONDE_NATS_KEY SONDE_OTLP_HEADERS
{{- end }}

{{/* The hub's SONDE_LOCATION is the first location of an empty database. */}}
{{- define "sonde.takenSettings" -}}
SONDE_HOST SONDE_PORT SONDE_OPS_HOST SONDE_OPS_PORT SONDE_DATA_DIR SONDE_ROLES SONDE_EGRESS_ALLOW{{ if eq .name "agents" }} SONDE_LOCATION{{ end }}
{{- end }}
