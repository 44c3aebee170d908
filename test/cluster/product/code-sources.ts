import { tagOf } from '../../../scripts/images/recipes.ts';
import type { Space } from './product.ts';

const tellTool = (command: string) => ({
  mcp: { tools: [{ name: 'tell', description: 'Tells where it comes from.', command }] },
});
const fromCode = tellTool('sh /code/tell.sh');
const script = (word: string) => `echo "from ${word}"; ls /code | head -5\n`;
const pythonTool = `import json, sys, platform
asked = json.load(sys.stdin)
print("python", platform.python_version(), asked["tool"])
`;

interface Source {
  readonly name: string;
  readonly what: string;
  readonly spec: Readonly<Record<string, unknown>>;
  /** What its tool says. */
  readonly answers: RegExp;
}

export const codeAgents: readonly Source[] = [
  {
    name: 'inline',
    what: 'code.inline',
    spec: { ...fromCode, code: { inline: { 'tell.sh': script('inline') } } },
    answers: /from inline/,
  },
  {
    name: 'map',
    what: 'code.configMap',
    spec: { ...fromCode, code: { configMap: { name: 'tell-code' } } },
    answers: /from a ConfigMap/,
  },
  {
    name: 'claim',
    what: 'code.pvc with a folder',
    spec: { ...fromCode, code: { pvc: { claimName: 'tell-claim', path: 'agents/tell' } } },
    answers: /from a claim/,
  },
  {
    name: 'image',
    what: 'code.image with a folder',
    spec: {
      ...tellTool('ls /code'),
      code: { image: { reference: tagOf('agent'), path: '/Agent' } },
    },
    answers: /agent-server\.mjs/,
  },
  {
    name: 'python',
    what: 'an image with Python, without Node',
    spec: {
      ...tellTool('python3 /code/tell.py'),
      code: { inline: { 'tell.py': pythonTool } },
      runtime: { image: tagOf('python') },
    },
    answers: /python 3\.\d+\.\d+ tell/,
  },
  {
    name: 'musl',
    what: 'a musl image',
    spec: { ...tellTool('echo "from musl"; id -u'), runtime: { image: tagOf('musl') } },
    answers: /from musl\n10001/,
  },
  {
    name: 'own',
    what: 'an own program beside the agent-server, in the Python image',
    spec: {
      ...tellTool('echo "beside"'),
      command: ['python3', '-c', 'import time; time.sleep(1e6)'],
      runtime: { image: tagOf('python') },
      podTemplate: { spec: { terminationGracePeriodSeconds: 2 } },
    },
    answers: /beside/,
  },
];

export const codeObjects = [
  {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'tell-code' },
    data: { 'tell.sh': script('a ConfigMap') },
  },
];

/** A claim with a file in it, which a pod puts there. */
export async function fillClaim(space: Space): Promise<void> {
  const storageClassName = await space.cluster.addVolumes(1);
  const put = `mkdir -p /data/agents/tell && printf '%s' '${script('a claim')}' > /data/agents/tell/tell.sh`;
  await space.apply(
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'tell-claim' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '10Mi' } },
        storageClassName,
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'fill' },
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 10001,
          fsGroup: 10001,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'fill',
            image: tagOf('agent'),
            imagePullPolicy: 'IfNotPresent',
            command: ['/bin/sh', '-c', put],
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
            volumeMounts: [{ name: 'data', mountPath: '/data' }],
          },
        ],
        volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'tell-claim' } }],
      },
    },
  );
  await space.kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/fill', '--timeout=90s');
  await space.kubectl('delete', 'pod', 'fill');
}
