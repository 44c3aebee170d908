import { busyboxImage } from '#test/cluster/busybox.ts';

/**
 * What stands for a router where only the way to it is tried: answers tools/list and tools/call, in which its one
 * tool says which pod it is; `slow` answers after three seconds.
 */
const script = `
answer() {
  length=0
  read -r request
  while read -r line; do
    line=$(printf %s "$line" | tr -d '\\r')
    [ -z "$line" ] && break
    case $line in [Cc]ontent-[Ll]ength:*) length=\${line#*: } ;; [Hh]ost:*) host=\${line#*: } ;; esac
  done
  body=$(head -c "$length")
  id=$(printf %s "$body" | sed 's/.*"id":\\([0-9]*\\),.*/\\1/')
  case $body in
    *tools/list*) result='{"tools":[{"name":"where","description":"Which pod","inputSchema":{"type":"object","properties":{"size":{"type":"string"}}}},{"name":"slow","description":"Later","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"slow"'*) sleep 3; result='{"content":[{"type":"text","text":"late"}]}' ;;
    *) result="{\\"content\\":[{\\"type\\":\\"text\\",\\"text\\":\\"$HOSTNAME heard $length bytes for $host\\"}]}" ;;
  esac
  [ "\${request#GET}" = "$request" ] || id=null
  out="{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$id,\\"result\\":$result}"
  printf 'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %s\\r\\nConnection: close\\r\\n\\r\\n%s' "\${#out}" "$out"
}
if [ "$1" = answer ]; then answer; else exec nc -ll -p 8080 -e sh "$0" answer; fi
`;

/** The ConfigMap with the script, and pods that run it under the labels of a router. */
export function standInRouters(namespace: string, names: readonly string[]): object[] {
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'stand-in', namespace },
      data: { 'router.sh': script },
    },
    ...names.map((name) => routerPod(namespace, name)),
  ];
}

function routerPod(namespace: string, name: string): object {
  const labels = { 'app.kubernetes.io/name': 'ploinky', 'app.kubernetes.io/component': 'router' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      containers: [
        {
          name: 'router',
          image: busyboxImage,
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '/stand-in/router.sh'],
          ports: [{ name: 'http', containerPort: 8080 }],
          readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
          volumeMounts: [{ name: 'stand-in', mountPath: '/stand-in' }],
        },
      ],
      volumes: [{ name: 'stand-in', configMap: { name: 'stand-in' } }],
    },
  };
}

/** A pod that stands for one of an agent: the agent-server beside the agent's own container. */
export function agentPod(namespace: string, name: string, script: string): object {
  const container = (containerName: string, command: string) => ({
    name: containerName,
    image: busyboxImage,
    imagePullPolicy: 'IfNotPresent',
    command: ['sh', '-c', command],
  });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { 'ploinky.dev/agent': 'talker' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      initContainers: [
        {
          ...container('agent-server', 'echo server of $HOSTNAME; exec sleep 1000'),
          restartPolicy: 'Always',
        },
      ],
      containers: [container('agent', script)],
    },
  };
}
