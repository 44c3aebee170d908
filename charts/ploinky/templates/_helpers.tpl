{{/* Labels of everything; call with (dict "root" $ "component" "router"), component optional. */}}
{{- define "ploinky.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{ include "ploinky.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: ploinky
{{- end }}

{{- define "ploinky.selector" -}}
app.kubernetes.io/name: ploinky
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Reference of an image: (dict "root" $ "image" .Values.image). */}}
{{- define "ploinky.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "ploinky.bundleImage" -}}
{{- $image := empty .Values.bundleImage.repository | ternary .Values.agentImage .Values.bundleImage -}}
{{ include "ploinky.image" (dict "root" . "image" $image) }}
{{- end }}

{{/* Metadata of something that is called ploinky-<component>: (dict "root" $ "component" "router"). */}}
{{- define "ploinky.metadata" -}}
name: ploinky-{{ .component }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "ploinky.labels" . | nindent 2 }}
{{- end }}

{{/* Rules of one role of files/rbac.yaml: (dict "root" $ "role" "controller"). */}}
{{- define "ploinky.rules" -}}
{{- $roles := .root.Files.Get "files/rbac.yaml" | fromYaml -}}
{{ index $roles .role | toYaml }}
{{- end }}

{{/* A pod's fields beside its containers: (dict "root" $ "component" "router" "values" .Values.router). */}}
{{- define "ploinky.podFields" -}}
serviceAccountName: ploinky-{{ .component }}
automountServiceAccountToken: true
enableServiceLinks: false
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- include "ploinky.podSecurity" .root | nindent 0 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if kindIs "slice" .values.topologySpreadConstraints }}
{{- with .values.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- else }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    matchLabelKeys: [pod-template-hash]
    labelSelector:
      matchLabels:
        {{- include "ploinky.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* Pod Security "restricted". */}}
{{- define "ploinky.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  {{- with .Values.securityContext.runAsUser }}
  runAsUser: {{ int64 . }}
  {{- end }}
  {{- with .Values.securityContext.runAsGroup }}
  runAsGroup: {{ int64 . }}
  {{- end }}
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "ploinky.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* A container's image, security and resources: (dict "root" $ "values" .Values.router). */}}
{{- define "ploinky.containerFields" -}}
image: {{ include "ploinky.image" (dict "root" .root "image" .root.Values.image) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{ include "ploinky.containerSecurity" . }}
resources:
  {{- toYaml .values.resources | nindent 2 }}
{{- end }}

{{/* Environment that the programs read: which pod they are. */}}
{{- define "ploinky.podEnv" -}}
- name: POD_NAME
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.name } }
- name: POD_NAMESPACE
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: metadata.namespace } }
- name: POD_IP
  valueFrom: { fieldRef: { apiVersion: v1, fieldPath: status.podIP } }
{{- end }}

{{/* Flags that all three programs take. */}}
{{- define "ploinky.commonArgs" -}}
- --home-namespace={{ .Release.Namespace }}
{{- if eq .Values.scope "Namespaced" }}
- --namespace={{ .Release.Namespace }}
{{- end }}
{{- end }}

{{/* {a: [x, y], b: [z]} as a=x+y,b=z. */}}
{{- define "ploinky.hostClaims" -}}
{{- $claims := list -}}
{{- range $namespace, $hosts := .Values.hostClaims -}}
{{- $claims = append $claims (printf "%s=%s" $namespace (join "+" $hosts)) -}}
{{- end -}}
{{- join "," $claims -}}
{{- end }}

{{/* Host names that the router answers for beside those of Routes: what this chart itself leads to it. */}}
{{- define "ploinky.allowHosts" -}}
{{- $service := "ploinky-router" -}}
{{- $namespace := .Release.Namespace -}}
{{- $own := list $service (printf "%s.%s" $service $namespace) (printf "%s.%s.svc" $service $namespace) (printf "%s.%s.svc.cluster.local" $service $namespace) -}}
{{- $agents := list "ploinky-router-agents" (printf "ploinky-router-agents.%s" $namespace) (printf "ploinky-router-agents.%s.svc" $namespace) (printf "ploinky-router-agents.%s.svc.cluster.local" $namespace) -}}
{{- $ingress := .Values.ingress.enabled | ternary .Values.ingress.hosts (list) -}}
{{- $route := .Values.httpRoute.enabled | ternary .Values.httpRoute.hostnames (list) -}}
{{- concat $own $agents $ingress $route .Values.router.allowHosts (list "$(POD_IP)") | uniq | join "," -}}
{{- end }}
