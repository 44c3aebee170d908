/**
 * Wrong objects for every group of fields, each with the one line it must give. The contract suites of both
 * API servers can use them too: a refusal must name `refusedPath`.
 */
export interface WrongObject {
  readonly kind: 'Agent' | 'Route' | 'Task';
  readonly spec: unknown;
  /** `path: message` of parsing. */
  readonly error: string;
  /** True where a CRD cannot say it: the object gets Accepted=False/Invalid instead of a refusal. */
  readonly onlyParsing: boolean;
}

/** The path that a refusal by an API server names: of a map with a wrong name, the map. */
export function refusedPath({ error }: WrongObject): string {
  const [path = ''] = error.split(': ');
  return path.replace(/\[[^\]]*[^\]0-9][^\]]*\]$/, '');
}

const route = (spec: object) => ({ agents: [{ name: 'a' }], mcp: {}, ...spec });
const task = (spec: object) => ({ agentRef: { name: 'a' }, tool: 'echo', ...spec });
const tool = (fields: object) => ({ mcp: { tools: [{ name: 'echo', command: 'cat', ...fields }] } });

const wrongAgents: readonly (readonly [spec: unknown, error: string, onlyParsing?: true])[] = [
  [undefined, 'spec: is required; give an object'],
  ['x', 'spec: must be an object, not text'],
  [{ mpc: {} }, 'spec.mpc: is not a field of spec (did you mean mcp?)'],
  [
    { role: 'Big' },
    'spec.role: must be lower-case letters, digits and "-", and begin and end with a letter or digit',
  ],
  [{ capabilities: ['a', 'a'] }, 'spec.capabilities[1]: is listed twice; remove one'],
  [
    { runtime: { class: 'bwrap' } },
    'spec.runtime.class: must be one of Auto, Pod, Bwrap, Seatbelt, Container, Process; "bwrap" is not (did you mean Bwrap?)',
  ],
  [{ runtime: { replicas: -1 } }, 'spec.runtime.replicas: must be at least 0'],
  [{ runtime: { replicas: '2' } }, 'spec.runtime.replicas: must be a number, not text'],
  [
    { runtime: { replica: 1 } },
    'spec.runtime.replica: is not a field of spec.runtime (did you mean replicas?)',
  ],
  [
    { runtime: { resources: { limits: { memory: '1 GB' } } } },
    'spec.runtime.resources.limits.memory: must be a quantity like 2, 500m or 512Mi',
  ],
  [
    { runtime: { resources: { limits: { cpu: true } } } },
    'spec.runtime.resources.limits.cpu: must be a whole number or text, not true or false',
  ],
  [{ code: {} }, 'spec.code: exactly one of path, git, image, configMap, pvc, inline must be given'],
  [
    { code: { path: '.', inline: { a: '' } } },
    'spec.code: exactly one of path, git, image, configMap, pvc, inline must be given',
  ],
  [
    { code: { git: { url: 'https://git.test/a', ca: {} } } },
    'spec.code.git.ca: exactly one of secretKeyRef, configMapKeyRef must be given',
  ],
  [
    { code: { git: { url: 'https://git.test/a', ca: { configMapKeyRef: { name: 'a', key: '' } } } } },
    'spec.code.git.ca.configMapKeyRef.key: must not be empty',
  ],
  [
    { code: { path: '../x' } },
    'spec.code.path: must be a path relative to the workspace, without ".." segments',
  ],
  [
    { code: { path: '/etc' } },
    'spec.code.path: must be a path relative to the workspace, without ".." segments',
  ],
  [
    { code: { inline: { '../x': '' } } },
    'spec.code.inline[../x]: its name must be a relative path without "." or ".." segments',
  ],
  [
    { code: { inline: { a: '' }, writable: true } },
    'spec.code.writable: only code.path can be writable; remove writable or use path',
  ],
  [{ command: 'node x.js' }, 'spec.command: must be a list, not text'],
  [{ command: [] }, 'spec.command: must have at least one item'],
  [{ lifecycle: { install: 'npm i' } }, 'spec.lifecycle.install: must be a list, not text'],
  [
    { env: [{ name: 'A-B' }] },
    'spec.env[0].name: must be letters, digits and "_", and not begin with a digit',
  ],
  [
    { env: [{ name: 'A' }, { name: 'A' }] },
    'spec.env[1]: has the name "A" of another item; each may appear once',
  ],
  [
    { env: [{ name: 'A', value: '1', valueFrom: { alias: 'x' } }] },
    'spec.env[0]: at most one of value, valueFrom may be given',
  ],
  [
    { env: [{ name: 'A', valueFrom: {} }] },
    'spec.env[0].valueFrom: exactly one of secretKeyRef, configMapKeyRef, alias, derive must be given',
  ],
  [
    { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's' } } }] },
    'spec.env[0].valueFrom.secretKeyRef.key: is required; give text',
  ],
  [
    { mcp: { configFile: 'mcp.json', tools: [] } },
    'spec.mcp.configFile: configFile excludes tools, resources, prompts and upstream; keep one of the two ways',
  ],
  [
    { mcp: { upstream: { stdio: ['x'] }, prompts: [] } },
    'spec.mcp.upstream: upstream excludes inline tools, resources and prompts; put them in an Agent of their own',
  ],
  [{ mcp: { upstream: {} } }, 'spec.mcp.upstream: exactly one of stdio, port, url must be given'],
  [
    { mcp: { upstream: { stdio: ['x'], path: '/mcp' } } },
    'spec.mcp.upstream.path: path belongs to port; give port or remove path',
  ],
  [
    { mcp: { upstream: { port: 7001, headersFrom: [{ name: 'X-Key', value: 'k' }] } } },
    'spec.mcp.upstream: headersFrom, oauth and ca belong to url; give url or remove them',
  ],
  [
    { mcp: { upstream: { url: 'ftp://x.example' } } },
    'spec.mcp.upstream.url: must be an http or https URL without user and fragment',
  ],
  [
    {
      mcp: {
        upstream: {
          url: 'http://x.example',
          headersFrom: [{ name: 'X-Key', secretKeyRef: { name: 's', key: 'k' } }],
        },
      },
    },
    'spec.mcp.upstream.url: oauth and headers from Secrets would go over http in clear; use an https URL',
  ],
  [
    { mcp: { upstream: { url: 'https://x.example', oauth: { mode: 'clientCredentials', clientId: 'c' } } } },
    'spec.mcp.upstream.oauth: clientCredentials needs clientId and clientSecretRef or privateKeyRef',
  ],
  [
    { mcp: { upstream: { url: 'https://x.example', oauth: { mode: 'perUser' } } } },
    'spec.auth: mcp.upstream.oauth.mode perUser needs to know who calls; set auth.mode to pwd, sso or guest',
  ],
  [
    {
      mcp: { upstream: { url: 'https://x.example', oauth: { mode: 'perUser' } } },
      auth: { mode: 'guest' },
      runtime: { replicas: 2 },
    },
    'spec.runtime: mcp.upstream.oauth.mode perUser keeps logins where it runs; set runtime.replicas to 1',
  ],
  [{ mcp: { upstream: { port: 70_000 } } }, 'spec.mcp.upstream.port: must be at most 65535'],
  [{ mcp: { maxParallelTasks: 0 } }, 'spec.mcp.maxParallelTasks: must be at least 1'],
  [tool({ command: undefined }), 'spec.mcp.tools[0].command: is required; it must be text or a list'],
  [tool({ command: 7 }), 'spec.mcp.tools[0].command: must be text or a list, not a number', true],
  [tool({ command: [] }), 'spec.mcp.tools[0].command: must have at least one item'],
  [tool({ command: ['a', 1] }), 'spec.mcp.tools[0].command[1]: must be text, not a number', true],
  [tool({ name: 'a b' }), 'spec.mcp.tools[0].name: must be letters, digits, "_", "-", "." and "/"'],
  [tool({ timeoutMs: 0 }), 'spec.mcp.tools[0].timeoutMs: must be at least 1'],
  [
    tool({ env: { 'a b': '' } }),
    'spec.mcp.tools[0].env[a b]: its name must be letters, digits and "_", and not begin with a digit',
  ],
  [tool({ input: {}, inputSchema: {} }), 'spec.mcp.tools[0]: at most one of inputSchema, input may be given'],
  [
    { mcp: { resources: [{ name: 'r', command: 'x' }] } },
    'spec.mcp.resources[0]: exactly one of uri, template must be given',
  ],
  [
    { mcp: { prompts: [{ name: 'p', messages: [{ role: 'me', content: '' }] }] } },
    'spec.mcp.prompts[0].messages[0].role: must be one of system, user, assistant; "me" is not',
  ],
  [{ storage: { retain: 'yes' } }, 'spec.storage.retain: must be true or false, not text'],
  [
    {
      storage: {
        blobs: {
          s3: { endpoint: 'https://a:b@s3.example', bucket: 'files', credentialsSecretRef: { name: 's' } },
        },
      },
    },
    'spec.storage.blobs.s3.endpoint: must be an http or https URL without user and query',
  ],
  [
    { network: { egress: [{ host: 'https://x.com' }] } },
    'spec.network.egress[0].host: must be a host name like api.example.com or *.example.com, without scheme, port or path; an address goes under cidr',
  ],
  [
    { network: { egress: [{ host: '10.0.0.1' }] } },
    'spec.network.egress[0].host: must be a host name like api.example.com or *.example.com, without scheme, port or path; an address goes under cidr',
  ],
  [
    { network: { egress: [{ cidr: '203.0.113.0/33' }] } },
    'spec.network.egress[0].cidr: must be an address range like 203.0.113.0/24',
  ],
  [{ network: { egress: [{}] } }, 'spec.network.egress[0]: exactly one of host, cidr must be given'],
  [
    { network: { egress: [{ host: 'a.b', ports: [] }] } },
    'spec.network.egress[0].ports: must have at least one item',
  ],
  [{ auth: { allow: [{}] } }, 'spec.auth.allow[0]: at least one of tools, resources, prompts must be given'],
  [
    { auth: { allow: [{ tools: ['*'], roles: ['admin'] }] } },
    'spec.auth.allow: roles, claims and scopes count only where somebody is known: give a mode other than none, or issuers',
  ],
  [{ auth: { mode: 'password' } }, 'spec.auth.mode: must be one of none, pwd, sso, guest; "password" is not'],
  [{ auth: { mode: 'sso' } }, 'spec.auth.sso: mode sso needs a provider: give issuer and clientId'],
  [
    { dependsOn: [{ name: 'b', wait: 'ready' }] },
    'spec.dependsOn[0].wait: must be one of Ready, None; "ready" is not (did you mean Ready?)',
  ],
  [
    { health: { liveness: {} } },
    'spec.health.liveness: exactly one of script, exec, http, tcp must be given',
  ],
  [{ sessions: { cols: 0 } }, 'spec.sessions.cols: must be at least 1'],
  [
    { worktree: { cleanup: 'Never' } },
    'spec.worktree.cleanup: must be one of Explicit, OnTaskDone, TTL; "Never" is not',
  ],
  [{ context: { maxBytes: 'big' } }, 'spec.context.maxBytes: must be a number, not text'],
  [
    { plugins: [{ name: '-x', source: { path: 'p' } }] },
    'spec.plugins[0].name: must be lower-case letters, digits, "_" and "-", and not begin with "-"',
  ],
  [{ budget: {} }, 'spec.budget.dailyTokens: is required; give a number'],
  [{ approval: { ttlSeconds: -1 } }, 'spec.approval.ttlSeconds: must be at least 0'],
  [{ heartbeat: { intervalSeconds: 5 } }, 'spec.heartbeat.intervalSeconds: must be at least 30'],
  [{ skills: {} }, 'spec.skills: exactly one of configMapRef, path must be given'],
  [{ hostOps: { allow: ['-rf'] } }, 'spec.hostOps.allow[0]: must be the name of an operation'],
  [
    { podTemplate: { metadata: { labels: { 'ploinky.dev/agent': 'x' } } } },
    'spec.podTemplate.metadata.labels: labels that begin with ploinky.dev/ or app.kubernetes.io/ are reserved; choose other names',
  ],
  [
    { podTemplate: { spec: { hostNetwork: true } } },
    'spec.podTemplate.spec.hostNetwork: is not a field of spec.podTemplate.spec; it has tolerations, nodeSelector, affinity, topologySpreadConstraints, imagePullSecrets, runtimeClassName, priorityClassName, terminationGracePeriodSeconds, volumes, volumeMounts',
  ],
];

const wrongRoutes: readonly (readonly [spec: object, error: string, onlyParsing?: true])[] = [
  [{ agents: undefined }, 'spec: exactly one of agents, selector must be given'],
  [{ mcp: undefined }, 'spec: at least one of mcp, api, static, blobs, sessions, chat, events must be given'],
  [
    { agents: [{ name: 'A' }] },
    'spec.agents[0].name: must be lower-case letters, digits and "-", and begin and end with a letter or digit',
  ],
  [
    { hosts: ['a:80'] },
    'spec.hosts[0]: must be a host name like api.example.com or *.example.com, without scheme, port or path; an address goes under cidr',
  ],
  [
    { paths: ['team'] },
    'spec.paths[0]: must begin with "/", end without one, and have no empty segment and none that begins with "."',
  ],
  [
    { paths: ['/a/../b'] },
    'spec.paths[0]: must begin with "/", end without one, and have no empty segment and none that begins with "."',
  ],
  [
    { mcp: { naming: 'conflict' } },
    'spec.mcp.naming: must be one of Conflict, Always, Never; "conflict" is not (did you mean Conflict?)',
  ],
  [
    { mcp: { mode: 'Single', naming: 'Always' } },
    'spec.mcp.naming: a Single surface shows names as they are; use Conflict or Never, or mode Aggregate',
  ],
  [
    { mcp: { mode: 'Single' }, agents: [{ name: 'a' }, { name: 'b' }] },
    'spec.mcp: mcp.mode Single needs exactly one agent in agents',
  ],
  [{ mcp: { tools: { allow: ['a b'] } } }, 'spec.mcp.tools.allow[0]: must be a name or a glob with * and ?'],
  [
    { mcp: { tools: { rename: [{ from: 'db', to: 'store_*' }] } } },
    'spec.mcp.tools.rename[0].to: to may have a "*" only where from has one',
  ],
  [
    { mcp: { resources: { rename: [{ from: 'doc://*', to: 'papers' }] } } },
    'spec.mcp.resources.rename[0].to: must be a URI with at most one "*"',
  ],
  [{ static: { root: 'b' } }, 'spec.static: static.root must be one of agents'],
  [
    { auth: { mode: 'SSO' } },
    'spec.auth.mode: must be one of none, pwd, sso, guest; "SSO" is not (did you mean sso?)',
  ],
  [{ rateLimit: {} }, 'spec.rateLimit.requestsPerMinute: is required; give a number'],
  [{ timeouts: { callMilliseconds: 0 } }, 'spec.timeouts.callMilliseconds: must be at least 1'],
  [
    { backends: { failureMode: 'Omit' } },
    'spec.backends.failureMode: must be one of Partial, Fail; "Omit" is not',
  ],
];

const wrongTasks: readonly (readonly [spec: object, error: string, onlyParsing?: true])[] = [
  [
    { agentRef: undefined },
    'spec: either agentRef or at least one of role and requiredCapabilities must be given',
  ],
  [{ role: 'r' }, 'spec: either agentRef or at least one of role and requiredCapabilities must be given'],
  [{ session: { prompt: 'x', new: {} } }, 'spec: at most one of tool, session may be given'],
  [{ tool: undefined }, 'spec: at least one of tool, session, title must be given'],
  [
    { tool: undefined, title: 't', input: {} },
    'spec.input: input belongs to tool; give tool or remove input',
  ],
  [{ input: { a: 'x'.repeat(300_000) } }, 'spec.input: must be at most 262144 bytes of JSON', true],
  [{ priority: 'urgent' }, 'spec.priority: must be one of low, medium, high, critical; "urgent" is not'],
  [{ retry: { limit: 1000 } }, 'spec.retry.limit: must be at most 100'],
  [
    { schedule: { cron: 'often' } },
    'spec.schedule.cron: must have five fields: minute hour day month weekday',
  ],
  [{ isolation: 'pod' }, 'spec.isolation: must be one of Shared, Pod; "pod" is not (did you mean Pod?)'],
];

export const wrongObjects: readonly WrongObject[] = [
  ...wrongAgents.map(([spec, error, onlyParsing = false]) => ({
    kind: 'Agent' as const,
    spec,
    error,
    onlyParsing,
  })),
  ...wrongRoutes.map(([spec, error, onlyParsing = false]) => ({
    kind: 'Route' as const,
    spec: route(spec),
    error,
    onlyParsing,
  })),
  ...wrongTasks.map(([spec, error, onlyParsing = false]) => ({
    kind: 'Task' as const,
    spec: task(spec),
    error,
    onlyParsing,
  })),
];
