{{- /* Names, labels, and what the generated templates need of values. */ -}}

{{- define "outrigger.image" -}}
{{- $image := .Values.image -}}
{{- if hasSuffix "provider-os/openstack-cloud-controller-manager" $image.repository -}}
{{- fail "image.repository is the image of the Go program: set it to Outrigger's" -}}
{{- end -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "outrigger.manager.name" -}}
{{- .Values.nameOverride | default (printf "%s-cloud-controller-manager" (.Release.Name | trunc 38 | trimSuffix "-")) -}}
{{- end -}}

{{- define "outrigger.manager.account" -}}
{{- .Values.serviceAccountName | default (include "outrigger.manager.name" .) -}}
{{- end -}}

{{- /* The operator may bind only this role, so with the operator its name is fixed. */ -}}
{{- define "outrigger.clusterRole" -}}
{{- if eq .Values.mode "operator" -}}
outrigger:cloud-controller-manager
{{- else -}}
{{- .Values.clusterRoleName | default (printf "outrigger:%s:%s" .Release.Namespace (include "outrigger.manager.name" .)) -}}
{{- end -}}
{{- end -}}

{{- define "outrigger.readerBinding" -}}
outrigger:{{ .Release.Namespace }}:{{ include "outrigger.manager.name" . }}:authentication-reader
{{- end -}}

{{- /* Labels that a workload keeps for life. */ -}}
{{- define "outrigger.selector" -}}
{{- if eq .Values.mode "operator" -}}
app.kubernetes.io/name: outrigger-operator
{{- else -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/name: cloud-controller-manager
{{- end -}}
{{- end -}}

{{- define "outrigger.standardLabels" -}}
{{- $selector := include "outrigger.selector" . | fromYaml -}}
{{- $labels := dict
      "app.kubernetes.io/component" .Values.mode
      "app.kubernetes.io/instance" .Release.Name
      "app.kubernetes.io/managed-by" .Release.Service
      "app.kubernetes.io/part-of" "outrigger"
      "app.kubernetes.io/version" .Chart.AppVersion
      "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- merge $selector $labels | toYaml -}}
{{- end -}}

{{- define "outrigger.labels" -}}
{{- merge (include "outrigger.standardLabels" . | fromYaml) (.Values.commonLabels | default dict) | toYaml -}}
{{- end -}}

{{- define "outrigger.podLabels" -}}
{{- merge (include "outrigger.labels" . | fromYaml) (.Values.podLabels | default dict) | toYaml -}}
{{- end -}}

{{- define "outrigger.replicas" -}}
{{- .Values.replicas | default (ternary 1 2 (eq .Values.mode "operator")) -}}
{{- end -}}

{{- define "outrigger.priorityClass" -}}
{{- .Values.priorityClassName | default "system-cluster-critical" -}}
{{- end -}}

{{- define "outrigger.resources" -}}
{{- $default := dict "requests" (dict "cpu" (ternary "10m" "20m" (eq .Values.mode "operator")) "memory" "32Mi") -}}
{{- .Values.resources | default $default | toYaml -}}
{{- end -}}

{{- /* As a list, whether it is one or a text with one. */ -}}
{{- define "outrigger.extraArgs" -}}
{{- $given := .Values.controllerExtraArgs -}}
{{- if kindIs "string" $given -}}
{{- $given = tpl $given . | fromYamlArray -}}
{{- end -}}
{{- if $given -}}
{{- range $given }}
{{- if hasPrefix "error" (lower .) -}}
{{- fail (printf "controllerExtraArgs is not a list in YAML: %s" .) -}}
{{- end -}}
{{- end -}}
{{- toYaml $given -}}
{{- end -}}
{{- end -}}

{{- define "outrigger.operator.args" -}}
{{- $args := list -}}
{{- with .Values.logVerbosityLevel }}{{- $args = append $args (printf "--v=%d" (int .)) -}}{{- end -}}
{{- range $label, $value := .Values.serviceMonitor.additionalLabels -}}
{{- $args = append $args (printf "--monitor-labels=%s=%s" $label $value) -}}
{{- end -}}
{{- $args = concat $args (include "outrigger.extraArgs" . | fromYamlArray) -}}
{{- if $args }}{{- toYaml $args -}}{{- end -}}
{{- end -}}

{{- define "outrigger.manager.args" -}}
{{- if not .Values.provider -}}
{{- fail "mode=manager needs a provider: set provider to the name of the cloud, for example provider=openstack" -}}
{{- end -}}
{{- if and (eq .Values.provider "openstack") (not .Values.cluster.name) -}}
{{- fail "provider=openstack needs cluster.name: a name that no other cluster of the project has" -}}
{{- end -}}
{{- $args := list "ccm" (printf "--cloud-provider=%s" .Values.provider) "--leader-elect=true" -}}
{{- $args = append $args (printf "--leader-elect-resource-name=%s" .Values.leaderElection.name) -}}
{{- $args = append $args (printf "--leader-elect-resource-namespace=%s" .Values.leaderElection.namespace) -}}
{{- $args = append $args (printf "--secure-port=%d" (int .Values.securePort)) -}}
{{- $args = append $args (printf "--v=%d" (int .Values.logVerbosityLevel)) -}}
{{- with .Values.enabledControllers }}{{- $args = append $args (printf "--controllers=%s" (join "," .)) -}}{{- end -}}
{{- if include "outrigger.manager.config" . }}{{- $args = append $args "--cloud-config=/etc/outrigger/config/cloud.conf" -}}{{- end -}}
{{- with .Values.cluster.name }}{{- $args = append $args (printf "--cluster-name=%s" .) -}}{{- end -}}
{{- concat $args (include "outrigger.extraArgs" . | fromYamlArray) | toYaml -}}
{{- end -}}

{{- /* Not empty if the flags ask for an account for each controller. */ -}}
{{- define "outrigger.manager.usesAccounts" -}}
{{- if has "--use-service-account-credentials=true" (include "outrigger.extraArgs" . | fromYamlArray) }}yes{{ end -}}
{{- end -}}

{{- define "outrigger.manager.controllerAccounts" -}}
{{- list "node-controller" "route-controller" "service-controller" "tagging-controller" | toYaml -}}
{{- end -}}

{{- define "outrigger.manager.controllerSubjects" -}}
{{- range include "outrigger.manager.controllerAccounts" . | fromYamlArray }}
- kind: ServiceAccount
  name: {{ . }}
  namespace: kube-system
{{- end -}}
{{- end -}}

{{- define "outrigger.manager.leases" -}}
{{- list .Values.leaderElection.name "cloud-provider-extraction-migration" | toYaml -}}
{{- end -}}

{{- /* Not empty if the manager has a configuration: the memory provider, for one, needs none. */ -}}
{{- define "outrigger.manager.config" -}}
{{- if .Values.secret.enabled -}}
{{- if or (not .Values.secret.create) (include "outrigger.cloudConf" . | trim) (eq .Values.provider "openstack") }}yes{{ end -}}
{{- end -}}
{{- end -}}

{{- define "outrigger.cloudConf" -}}
{{- if .Values.cloudConfigContents -}}
{{ .Values.cloudConfigContents }}
{{- else -}}
{{- $sections := list
      (list "Global" .Values.cloudConfig.global)
      (list "Networking" .Values.cloudConfig.networking)
      (list "LoadBalancer" .Values.cloudConfig.loadBalancer)
      (list "BlockStorage" .Values.cloudConfig.blockStorage)
      (list "Metadata" .Values.cloudConfig.metadata)
      (list "Route" .Values.cloudConfig.route) -}}
{{- range $section := $sections }}
{{- with last $section }}
[{{ first $section }}]
{{- range $key, $value := . }}
{{- if kindIs "slice" $value }}
{{- range $value }}
{{ $key }} = {{ include "outrigger.scalar" . | quote }}
{{- end }}
{{- else if not (kindIs "invalid" $value) }}
{{ $key }} = {{ include "outrigger.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}

{{- /* Helm reads 1000000 as 1e+06. */ -}}
{{- define "outrigger.scalar" -}}
{{- if and (kindIs "float64" .) (eq . (floor .)) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{- define "outrigger.manager.podAnnotations" -}}
{{- $annotations := merge (dict) (.Values.podAnnotations | default dict) (.Values.commonAnnotations | default dict) -}}
{{- if and .Values.secret.create (include "outrigger.manager.config" .) -}}
{{- if ne .Values.provider "openstack" -}}
{{- $annotations = set $annotations "checksum/config" (include "outrigger.cloudConf" . | sha256sum) -}}
{{- end -}}
{{- end -}}
{{- if $annotations }}{{- toYaml $annotations -}}{{- end -}}
{{- end -}}

{{- /* A list in YAML, also if it is empty. */ -}}
{{- define "outrigger.list" -}}
{{- if . }}{{ toYaml . }}{{ else }}[]{{ end -}}
{{- end -}}

{{- /* Where each provider finds its credentials. */ -}}
{{- define "outrigger.manager.env" -}}
{{- $env := list -}}
{{- if .Values.credentials.name -}}
{{- $files := dict "openstack" (list "OS_CLIENT_CONFIG_FILE" "clouds.yaml") "aws" (list "AWS_SHARED_CREDENTIALS_FILE" "credentials") -}}
{{- with get $files .Values.provider -}}
{{- $env = append $env (dict "name" (first .) "value" (printf "/etc/outrigger/credentials/%s" (last .))) -}}
{{- end -}}
{{- if eq .Values.provider "digitalocean" -}}
{{- $ref := dict "name" .Values.credentials.name "key" "access-token" -}}
{{- $env = append $env (dict "name" "DO_ACCESS_TOKEN" "valueFrom" (dict "secretKeyRef" $ref)) -}}
{{- end -}}
{{- end -}}
{{- concat $env (.Values.extraEnv | default list) | include "outrigger.list" -}}
{{- end -}}

{{- define "outrigger.manager.volumes" -}}
{{- $volumes := list -}}
{{- if include "outrigger.manager.config" . -}}
{{- $volumes = append $volumes (dict "name" "config" "secret" (dict "secretName" .Values.secret.name "defaultMode" 288)) -}}
{{- end -}}
{{- with .Values.credentials.name -}}
{{- $volumes = append $volumes (dict "name" "credentials" "secret" (dict "secretName" . "defaultMode" 288)) -}}
{{- end -}}
{{- concat $volumes (.Values.extraVolumes | default list) | include "outrigger.list" -}}
{{- end -}}

{{- define "outrigger.manager.volumeMounts" -}}
{{- $mounts := list -}}
{{- if include "outrigger.manager.config" . -}}
{{- $mounts = append $mounts (dict "name" "config" "mountPath" "/etc/outrigger/config" "readOnly" true) -}}
{{- end -}}
{{- if .Values.credentials.name -}}
{{- $mounts = append $mounts (dict "name" "credentials" "mountPath" "/etc/outrigger/credentials" "readOnly" true) -}}
{{- end -}}
{{- concat $mounts (.Values.extraVolumeMounts | default list) | include "outrigger.list" -}}
{{- end -}}
