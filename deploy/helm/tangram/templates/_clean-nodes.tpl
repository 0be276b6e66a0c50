{{/* Puts the options into the pods that clean nodes: the same folders and names as for the installation. */}}
{{- define "tangram.cleaningPod" -}}
{{- $values := .root.Values -}}
{{- $clean := first .pod.initContainers -}}
{{- if ne $values.kubeletDir "/var/lib/kubelet" -}}
{{- $folder := dict "name" "kubelet" "option" "--kubelet-dir" "path" $values.kubeletDir "type" "Directory" -}}
{{- include "tangram.cleanedFolder" (dict "pod" .pod "container" $clean "folder" $folder) -}}
{{- end -}}
{{- if ne $values.cdiDir "/var/run/cdi" -}}
{{- $folder := dict "name" "cdi" "option" "--cdi-dir" "path" $values.cdiDir "type" "DirectoryOrCreate" -}}
{{- include "tangram.cleanedFolder" (dict "pod" .pod "container" $clean "folder" $folder) -}}
{{- end -}}
{{- range concat .pod.initContainers .pod.containers -}}
{{- $_ := set . "imagePullPolicy" $values.image.pullPolicy -}}
{{- end -}}
{{- with $values.imagePullSecrets -}}{{- $_ := set $.pod "imagePullSecrets" . -}}{{- end -}}
{{- end -}}

{{/* Gives and mounts a folder at its own path. */}}
{{- define "tangram.cleanedFolder" -}}
{{- $one := .folder -}}
{{- $_ := set .container "args" (append .container.args (printf "%s=%s" $one.option $one.path)) -}}
{{- $mount := dict "name" $one.name "mountPath" $one.path -}}
{{- $_ := set .container "volumeMounts" (append .container.volumeMounts $mount) -}}
{{- $volume := dict "name" $one.name "hostPath" (dict "path" $one.path "type" $one.type) -}}
{{- $_ := set .pod "volumes" (append .pod.volumes $volume) -}}
{{- end -}}
