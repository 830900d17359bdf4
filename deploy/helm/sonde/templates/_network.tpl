{{/* Rules of NetworkPolicies. */}}

{{/* Takes { peers, ports }: a rule's `to` and `ports`; no peers are all. */}}
{{- define "sonde.egressTo" -}}
- ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ include "sonde.text" . }} }
    {{- end }}
  {{- with .peers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "sonde.dnsEgress" -}}
- ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end }}

{{/* Takes { root, section }. */}}
{{- define "sonde.natsEgress" -}}
{{- $nats := .root.Values.networkPolicy.nats -}}
{{- $ports := $nats.ports -}}
{{- if not $ports }}
{{- range splitList "," .section.natsUrl }}
{{- $ports = append $ports (regexFind "[0-9]+$" (regexFind ":[0-9]+/?$" . | trimSuffix "/") | default "4222") }}
{{- end }}
{{- end }}
{{- include "sonde.egressTo" (dict "peers" $nats.to "ports" (uniq $ports)) }}
{{- end }}

{{/* Takes a URL of http or https. */}}
{{- define "sonde.portOfUrl" -}}
{{- $url := urlParse . -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" $url.host) | default (ternary "443" "80" (eq $url.scheme "https")) }}
{{- end }}

{{/* The world, and what egressAllow opens beyond. Takes { root, section }. */}}
{{- define "sonde.targetEgress" -}}
{{- $closed := .root.Values.networkPolicy.closedRanges -}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        {{- with $closed.ipv4 }}
        except:
          {{- toYaml . | nindent 10 }}
        {{- end }}
    - ipBlock:
        cidr: ::/0
        {{- with $closed.ipv6 }}
        except:
          {{- toYaml . | nindent 10 }}
        {{- end }}
{{- range .section.egressAllow }}
{{- include "sonde.allowedEgress" . }}
{{- end }}
{{- end }}

{{/* An entry of egressAllow: 10.0.0.1, 10.0.0.0/8:443, [fd00::/8]:443, localhost:8080. */}}
{{- define "sonde.allowedEgress" -}}
{{- if not (hasPrefix "localhost" (lower .)) }}
{{- $range := . }}
{{- $port := "" }}
{{- if hasPrefix "[" . }}
{{- $range = regexFind "[^\\[\\]]+" . }}
{{- $port = regexFind "[0-9]+$" (regexFind "\\]:[0-9]+$" .) }}
{{- else if eq (len (splitList ":" .)) 2 }}
{{- $range = splitList ":" . | first }}
{{- $port = splitList ":" . | last }}
{{- end }}
{{- if not (contains "/" $range) }}
{{- $range = printf "%s/%d" $range (ternary 128 32 (contains ":" $range)) }}
{{- end }}
- to:
    - ipBlock:
        cidr: {{ $range | quote }}
  {{- with $port }}
  ports:
    - { protocol: TCP, port: {{ . }} }
  {{- end }}
{{- end }}
{{- end }}

{{/* Takes { from, port }: the name of a port, and who may reach it; nobody named is everybody. */}}
{{- define "sonde.ingressFrom" -}}
- ports:
    - port: {{ .port }}
  {{- with .from }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
