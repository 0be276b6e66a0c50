{{/*
The DaemonSet of deploy/manifests/base, with the patch of the overlay for this hardware and the options in values.yaml.
It is changed as a document, so that what it says stands in one place only.
*/}}
{{- define "tangram.daemonset" -}}
{{- $set := include "tangram.file" (dict "root" . "file" "base/daemonset.yaml") | fromYaml -}}
{{- $pod := $set.spec.template.spec -}}
{{- if ne .Values.hardware "nics" -}}
{{- include "tangram.overlay" (dict "root" . "pod" $pod) -}}
{{- end -}}
{{- range $container := $pod.containers -}}
{{- include "tangram.container" (dict "root" $ "container" $container) -}}
{{- end -}}
{{- if .Values.metrics.enabled -}}
{{- $secret := dict "name" "metrics-tls" "secret" (dict "secretName" "tangram-metrics-tls") -}}
{{- $_ := set $pod "volumes" (append $pod.volumes $secret) -}}
{{- end -}}
{{- if .Values.affinity -}}{{- $_ := set $pod "affinity" .Values.affinity -}}
{{- else if eq .Values.hardware "simulated" -}}{{- $_ := unset $pod "affinity" -}}{{- end -}}
{{- with .Values.nodeSelector -}}{{- $_ := set $pod "nodeSelector" . -}}{{- end -}}
{{- with .Values.imagePullSecrets -}}{{- $_ := set $pod "imagePullSecrets" . -}}{{- end -}}
{{- $_ := set $pod "tolerations" .Values.tolerations -}}
{{- toYaml $set -}}
{{- end -}}

{{/* Puts the overlay's patch into a pod, as kustomize does: lists are joined, null takes a field away. */}}
{{- define "tangram.overlay" -}}
{{- $file := printf "overlays/%s/daemonset.yaml" .root.Values.hardware -}}
{{- $patch := (include "tangram.file" (dict "root" .root "file" $file) | fromYaml).spec.template.spec -}}
{{- $_ := set .pod "hostPID" $patch.hostPID -}}
{{- $_ := set .pod "volumes" (concat $patch.volumes .pod.volumes) -}}
{{- range $volume := .pod.volumes -}}
{{- if eq $volume.name "node-file" -}}{{- $_ := set $volume.configMap "name" (include "tangram.machineName" $.root) -}}{{- end -}}
{{- end -}}
{{- range $index, $over := $patch.containers -}}
{{- $container := index $.pod.containers $index -}}
{{- if ne $container.name $over.name -}}{{- fail (printf "%s: container %s is not where the base has it" $file $over.name) -}}{{- end -}}
{{- $_ := set $container "volumeMounts" (concat $over.volumeMounts $container.volumeMounts) -}}
{{- $context := $container.securityContext -}}
{{- range $key, $value := $over.securityContext -}}
{{- if kindIs "invalid" $value -}}{{- $_ := unset $context $key -}}
{{- else if kindIs "map" $value -}}{{- $_ := set $context $key (merge $value (get $context $key)) -}}
{{- else -}}{{- $_ := set $context $key $value -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Puts the options into a container: agent or plugin. */}}
{{- define "tangram.container" -}}
{{- $values := .root.Values -}}
{{- $own := get $values .container.name -}}
{{- $arguments := .container.args -}}
{{- if eq $values.hardware "nvidia" -}}
{{- $arguments = append $arguments "--host-root=/host" -}}
{{- else if eq $values.hardware "simulated" -}}
{{- $arguments = concat $arguments (list "--simulated=/etc/tangram/node.yaml" "--machine=/var/lib/tangram/machine") -}}
{{- end -}}
{{- if $values.metrics.enabled -}}
{{- $port := ternary "9464" "9466" (eq .container.name "agent") -}}
{{- $arguments = concat $arguments (list (print "--metrics-address=:" $port)
    "--metrics-tls-cert=/run/metrics-tls/tls.crt" "--metrics-tls-key=/run/metrics-tls/tls.key"
    "--metrics-authorization=token") -}}
{{- $mount := dict "name" "metrics-tls" "mountPath" "/run/metrics-tls" "readOnly" true -}}
{{- $_ := set .container "volumeMounts" (append .container.volumeMounts $mount) -}}
{{- end -}}
{{- if ne $values.driverRoot "/" -}}
{{- $arguments = append $arguments (print "--driver-root=" $values.driverRoot) -}}
{{- end -}}
{{- if ne $values.kubeletDir "/var/lib/kubelet" -}}
{{- $arguments = append $arguments (print "--kubelet-dir=" $values.kubeletDir) -}}
{{- end -}}
{{- if eq .container.name "plugin" -}}
{{- if ne $values.cdiDir "/var/run/cdi" -}}{{- $arguments = append $arguments (print "--cdi-dir=" $values.cdiDir) -}}{{- end -}}
{{- with $values.nvidiaCdiHook -}}{{- $arguments = append $arguments (print "--nvidia-cdi-hook=" .) -}}{{- end -}}
{{- end -}}
{{- $_ := set .container "args" (concat $arguments $values.arguments $own.arguments) -}}
{{- $_ := set .container "imagePullPolicy" $values.image.pullPolicy -}}
{{- $_ := set .container "resources" $own.resources -}}
{{- end -}}

{{/* The file of the simulated machine, and the name of its ConfigMap: another machine starts the pods anew. */}}
{{- define "tangram.machine" -}}
{{- .Values.simulatedMachine | default (.Files.Get "manifests/overlays/simulated/node.yaml") -}}
{{- end -}}
{{- define "tangram.machineName" -}}
simulated-node-{{ include "tangram.machine" . | sha256sum | trunc 10 }}
{{- end -}}
