{{/* Refuses what contradicts itself; which values there are is in values.schema.json. */}}
{{- define "tangram.check" -}}
{{- with .Values -}}
{{- if and .simulatedMachine (ne .hardware "simulated") -}}
{{- fail (printf "simulatedMachine is given, but hardware is %q: leave it out, or set hardware=simulated" .hardware) -}}
{{- end -}}
{{- if and (ne .driverRoot "/") (ne .hardware "nvidia") -}}
{{- fail (printf "driverRoot is %q, but hardware is %q, which has no driver: leave it out, or set hardware=nvidia" .driverRoot .hardware) -}}
{{- end -}}
{{- if and .nvidiaCdiHook (ne .hardware "nvidia") -}}
{{- fail (printf "nvidiaCdiHook is %q, but hardware is %q, which has no driver: leave it out, or set hardware=nvidia" .nvidiaCdiHook .hardware) -}}
{{- end -}}
{{- if and .controller.certManager (not .controller.webhook) -}}
{{- fail "controller.certManager is true, but controller.webhook is false, and only the webhook has a certificate: leave one of them out" -}}
{{- end -}}
{{- if and .controller.certManager (not .controller.enabled) -}}
{{- fail "controller.certManager is true, but controller.enabled is false, and only its webhook has a certificate: set controller.enabled=true" -}}
{{- end -}}
{{- if and .controller.multiNodePools (not .controller.enabled) -}}
{{- fail "controller.multiNodePools is true, but controller.enabled is false, and only the controller publishes such pools: set controller.enabled=true" -}}
{{- end -}}
{{- if and .controller.page.enabled (not .controller.enabled) -}}
{{- fail "controller.page.enabled is true, but controller.enabled is false, and the controller serves the page: set controller.enabled=true, or use tangram serve" -}}
{{- end -}}
{{- end -}}
{{- include "tangram.checkKinds" . -}}
{{- end -}}

{{/* Refuses options whose objects the cluster does not know: Helm itself names kinds, not what brings them. */}}
{{- define "tangram.checkKinds" -}}
{{- if .Values.metrics.enabled -}}
{{- $names := list "monitoring.coreos.com/v1/PodMonitor" "monitoring.coreos.com/v1/PrometheusRule" -}}
{{- include "tangram.checkServed" (list $ "metrics.enabled" "the Prometheus operator" $names) -}}
{{- end -}}
{{- $names := list "cert-manager.io/v1/Certificate" "cert-manager.io/v1/Issuer" -}}
{{- range $option, $isOn := dict "metrics.enabled" .Values.metrics.enabled "controller.certManager" .Values.controller.certManager -}}
{{- if $isOn -}}{{- include "tangram.checkServed" (list $ $option "cert-manager" $names) -}}{{- end -}}
{{- end -}}
{{- end -}}

{{/* Takes a list: the chart's values, an option, what serves its kinds, and these as GROUP/VERSION/KIND. */}}
{{- define "tangram.checkServed" -}}
{{- $missing := list -}}
{{- range $kind := index . 3 -}}
{{- if not ((index $ 0).Capabilities.APIVersions.Has $kind) -}}{{- $missing = append $missing $kind -}}{{- end -}}
{{- end -}}
{{- with join "," $missing -}}
{{- fail (printf "%s is true, but the cluster does not serve %s: install %s first, or leave the option out; helm template asks no cluster, so tell it with --api-versions=%s" (index $ 1) (replace "," ", " .) (index $ 2) .) -}}
{{- end -}}
{{- end -}}
