{{/* The image. No default: nobody could pull it. */}}
{{- define "tangram.image" -}}
{{- with .Values.image -}}
{{- if not .repository -}}
{{- fail "image.repository is empty, and no image of Tangram is published yet: build one (docs/install.md, 1), push it, and name it with --set image.repository=REGISTRY/tangram" -}}
{{- end -}}
{{- .repository -}}{{- if .digest -}}@{{ .digest }}{{- else -}}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/*
A file of deploy/manifests with the names of this installation.
Takes a dictionary: root, the chart's values and files; file, the path below deploy/manifests.
*/}}
{{- define "tangram.file" -}}
{{- $text := .root.Files.Get (print "manifests/" .file) -}}
{{- if not $text -}}{{- fail (printf "the chart lacks manifests/%s: package it in a whole checkout" .file) -}}{{- end -}}
{{- $values := .root.Values -}}
{{- $text
    | replace "tangram-system" .root.Release.Namespace
    | replace "registry.invalid/tangram" (include "tangram.image" .root)
    | replace "/var/lib/kubelet" $values.kubeletDir
    | replace "/var/run/cdi" $values.cdiDir
-}}
{{- end -}}

{{/* The documents of a file as YAML below the key "documents", to be changed; arguments as for tangram.file. */}}
{{- define "tangram.documents" -}}
{{- $found := list -}}
{{- range regexSplit "(?m)^---\n" (include "tangram.file" .) -1 -}}
{{- with fromYaml . -}}{{- $found = append $found . -}}{{- end -}}
{{- end -}}
{{- dict "documents" $found | toYaml -}}
{{- end -}}

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
{{- if and .controller.multiNodePools (not .controller.enabled) -}}
{{- fail "controller.multiNodePools is true, but controller.enabled is false, and only the controller publishes such pools: set controller.enabled=true" -}}
{{- end -}}
{{- if and .controller.page.enabled (not .controller.enabled) -}}
{{- fail "controller.page.enabled is true, but controller.enabled is false, and the controller serves the page: set controller.enabled=true, or use tangram serve" -}}
{{- end -}}
{{- end -}}
{{- end -}}
