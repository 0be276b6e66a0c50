{{/* Puts the options into the controller's Deployment. */}}
{{- define "tangram.controllerPod" -}}
{{- $own := .root.Values.controller -}}
{{- $pod := .deployment.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $_ := set .deployment.spec "replicas" $own.replicas -}}
{{- if not $own.webhook -}}
{{- $arguments := list -}}
{{- range $container.args -}}
{{- if not (hasPrefix "--webhook-address=" .) -}}{{- $arguments = append $arguments . -}}{{- end -}}
{{- end -}}
{{- $_ := set $container "args" $arguments -}}
{{- $ports := list -}}
{{- range $container.ports -}}{{- if ne .name "webhook" -}}{{- $ports = append $ports . -}}{{- end -}}{{- end -}}
{{- $_ := set $container "ports" $ports -}}
{{- end -}}
{{- if $own.certManager -}}
{{- $_ := set $container "args" (append $container.args "--certificate-dir=/run/certificate") -}}
{{- $mount := dict "name" "certificate" "mountPath" "/run/certificate" "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- $secret := dict "name" "certificate" "secret" (dict "secretName" "tangram-controller-webhook") -}}
{{- $_ := set $pod "volumes" (append $pod.volumes $secret) -}}
{{- end -}}
{{- if $own.page.enabled -}}
{{- $arguments := concat $container.args (list "--page-address=:8444" "--page-tls-cert=/run/page-tls/tls.crt"
    "--page-tls-key=/run/page-tls/tls.key" "--page-authorization=token") -}}
{{- $_ := set $container "args" $arguments -}}
{{- $_ := set $container "ports" (append $container.ports (dict "name" "page" "containerPort" 8444)) -}}
{{- $mount := dict "name" "page-tls" "mountPath" "/run/page-tls" "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- $secret := dict "name" "page-tls" "secret" (dict "secretName" $own.page.tlsSecret) -}}
{{- $_ := set $pod "volumes" (append $pod.volumes $secret) -}}
{{- end -}}
{{- $_ := set $container "imagePullPolicy" .root.Values.image.pullPolicy -}}
{{- $_ := set $container "resources" $own.resources -}}
{{- $_ := set $pod "tolerations" $own.tolerations -}}
{{- with .root.Values.imagePullSecrets -}}{{- $_ := set $pod "imagePullSecrets" . -}}{{- end -}}
{{- end -}}
