/** One mistake, and what an Agent with it says. */
interface Case {
  /** Name of the Agent. */
  readonly name: string;
  readonly what: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** Default: Ready. */
  readonly type?: string;
  readonly reason: string;
  readonly says: RegExp;
}

const node = (script: string) => ['node', '-e', script];
/** For programs that do not heed SIGTERM. */
const brief = { podTemplate: { spec: { terminationGracePeriodSeconds: 2 } } };
const gpu = 'example.test/gpu';

export const cases: readonly Case[] = [
  {
    name: 'no-image',
    what: 'wrong image',
    spec: { runtime: { image: 'localhost/ploinky/none:test' } },
    reason: 'ImagePullFailed',
    says: /none:test/,
  },
  {
    name: 'crashes',
    what: 'crash loop',
    spec: { command: node("console.error('no database'); process.exit(3)") },
    reason: 'BackOff',
    says: /exit code 3[\s\S]*no database/,
  },
  {
    name: 'hungry',
    what: 'out of memory',
    spec: {
      ...brief,
      command: node('const all = []; for (;;) all.push(Buffer.alloc(1e7, 1))'),
      runtime: { resources: { limits: { memory: '128Mi' } } },
    },
    reason: 'OOMKilled',
    says: /more memory than its limit/,
  },
  {
    name: 'too-large',
    what: 'no node with room',
    spec: { runtime: { resources: { requests: { memory: '100Ti' } } } },
    reason: 'Unschedulable',
    says: /Insufficient memory/,
  },
  {
    name: 'no-volume',
    what: 'a claim that is not bound',
    spec: { storage: { size: '100Mi', storageClassName: 'late-class', retain: false } },
    reason: 'VolumePending',
    says: /no-volume-workspace-0/,
  },
  {
    name: 'no-secret',
    what: 'missing Secret',
    spec: { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'late', key: 'key' } } }] },
    reason: 'SecretMissing',
    says: /late/,
  },
  {
    name: 'no-map',
    what: 'missing ConfigMap with code',
    spec: { code: { configMap: { name: 'no-such-map' } } },
    reason: 'SecretMissing',
    says: /spec\.code\.configMap\.name: ConfigMap "no-such-map"/,
  },
  {
    name: 'over-quota',
    what: 'quota',
    spec: { runtime: { resources: { requests: { [gpu]: '2' }, limits: { [gpu]: '2' } } } },
    reason: 'QuotaExceeded',
    says: /exceeded quota/,
  },
  {
    name: 'by-policy',
    what: 'refused by an admission policy',
    spec: {},
    reason: 'AdmissionRefused',
    says: /agents of this name are not wanted/,
  },
  {
    name: 'by-webhook',
    what: 'a webhook that does not answer',
    spec: {},
    reason: 'AdmissionRefused',
    says: /failed calling webhook/,
  },
  {
    name: 'code-path',
    what: 'code.path on a cluster',
    spec: { code: { path: 'demo' } },
    type: 'Accepted',
    reason: 'NotSupported',
    says: /spec\.code\.path[\s\S]*git[\s\S]*image[\s\S]*configMap[\s\S]*pvc[\s\S]*inline/,
  },
  {
    name: 'code-git',
    what: 'a repository that the egress rules close',
    spec: { code: { git: { url: 'https://git.example.org/agents.git' } } },
    reason: 'CodeUnavailable',
    says: /git\.example\.org[\s\S]*response 403/,
  },
  {
    name: 'code-image',
    what: 'an image with code that is not there',
    spec: { code: { image: { reference: 'localhost/ploinky/none:test' } } },
    reason: 'ImagePullFailed',
    says: /none:test/,
  },
  {
    name: 'no-program',
    what: 'a program that is not in the image',
    spec: { command: ['/no/such/program'] },
    reason: 'ContainerConfigError',
    says: /no such file/,
  },
  {
    name: 'no-install',
    what: 'an install step that fails',
    spec: { lifecycle: { install: node("console.error('registry says no'); process.exit(5)") } },
    reason: 'InstallFailed',
    says: /exit code 5[\s\S]*registry says no/,
  },
  {
    name: 'no-upstream',
    what: 'an own server that does not answer',
    spec: { ...brief, command: node('setInterval(() => 0, 1e6)'), mcp: { upstream: { port: 7001 } } },
    reason: 'UpstreamNotReady',
    says: /7001|upstream|answer/,
  },
  {
    name: 'depends',
    what: 'a dependency that is not Ready',
    spec: { dependsOn: [{ name: 'no-secret' }] },
    reason: 'WaitingForDependency',
    says: /no-secret/,
  },
];

export const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'gpus' },
  spec: { hard: { [`requests.${gpu}`]: '1' } },
};

/** Two that an administrator may have: both look at pods of one Agent each, in one namespace. */
export function policies(namespace: string): object[] {
  const name = `refuse-${namespace}`;
  const here = { matchLabels: { 'kubernetes.io/metadata.name': namespace } };
  const pods = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] };
  return [
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [pods],
          objectSelector: { matchLabels: { 'ploinky.dev/agent': 'by-policy' } },
        },
        validations: [{ expression: 'false', message: 'agents of this name are not wanted' }],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'], matchResources: { namespaceSelector: here } },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [
        {
          name: 'away.example.test',
          clientConfig: { service: { namespace, name: 'no-such-service', path: '/' } },
          rules: [pods],
          namespaceSelector: here,
          objectSelector: { matchLabels: { 'ploinky.dev/agent': 'by-webhook' } },
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 2,
        },
      ],
    },
  ];
}

/** A pod that Pod Security "restricted" lets pass, with the label of an agent. */
export function plainPod(name: string): object {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 10001,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `${name}-probe`, labels: { 'ploinky.dev/agent': name } },
    spec: { containers: [{ name: 'probe', image: 'none', securityContext }] },
  };
}
