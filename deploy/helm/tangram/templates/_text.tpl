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
{{- if ne $values.driverName "tangram.dev" -}}
{{- /* All places of the driver's name; what else is called tangram.dev are groups of APIs, labels and classes. */}}
{{- range list `"%s"` "value: %s}" "driver: %s\n" "resourceNames: [%s]" "/plugins/%s" -}}
{{- $text = replace (printf . "tangram.dev") (printf . $values.driverName) $text -}}
{{- end -}}
{{- end -}}
{{- $text
    | replace "tangram-system" .root.Release.Namespace
    | replace "tangram-clean-nodes" .root.Release.Namespace
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
