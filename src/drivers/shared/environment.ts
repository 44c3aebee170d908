import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { InstallStep, Workload } from '../workload.ts';
import { instanceVariable } from './instance-variable.ts';

/** Ports of the agent-server's loopback forwarders inside a workload. */
const routerPort = 8080;
const egressPort = 3128;

/** Folders and addresses as the agent sees them, on whatever substrate. */
export interface WorkloadView {
  readonly code: string;
  readonly workspace: string;
  /** What the install step left, or (while it runs) fills. */
  readonly deps: string | undefined;
  readonly temporary: string;
  /**
   * Where the loopback forwarders inside lead, as `unix:/path` or `host:port`; undefined where the agent shares the
   * host's network and there are none.
   */
  readonly exits: { readonly router: string; readonly egress: string } | undefined;
  readonly routerUrl: string;
  readonly path: string;
  readonly runtime: string;
  /** Port for the agent's own HTTP server. */
  readonly port: number;
}

/** What every agent finds in its environment (the Ploinky contract's list). No secrets. */
export function standardEnvironment(workload: Workload, view: WorkloadView): Record<string, string> {
  const { name, namespace } = workload.id;
  const router = new URL(view.routerUrl);
  return {
    AGENT_NAME: name,
    PLOINKY_AGENT_NAME: name,
    PLOINKY_REPO_NAME: namespace,
    PLOINKY_AGENT_PRINCIPAL: `agent:${namespace}/${name}`,
    PLOINKY_RUNTIME: view.runtime,
    PLOINKY_CONTAINER_NAME: `ploinky_${namespace}_${name}`,
    PLOINKY_CONTAINER_ID: `${view.runtime}_${name}`,
    PLOINKY_PROFILE: 'dev',
    PLOINKY_PROFILE_ENV: 'development',
    PLOINKY_CODE_DIR: view.code,
    PLOINKY_MCP_CONFIG_PATH: `${view.code}/mcp-config.json`,
    PLOINKY_ROUTER_HOST: router.hostname,
    PLOINKY_ROUTER_PORT: router.port,
    PLOINKY_ROUTER_URL: view.routerUrl,
    PLOINKY_WORKSPACE_ROOT: view.workspace,
    PLOINKY_CWD: view.workspace,
    WORKSPACE_PATH: view.workspace,
    NODE_PATH: `${view.code}/node_modules`,
    HOME: view.temporary,
    TMPDIR: view.temporary,
    LANG: 'C.UTF-8',
    PATH: view.path,
    PORT: String(view.port),
    ...(view.deps === undefined ? {} : { PYTHONPATH: pythonFolder(view.deps) }),
    ...proxyEnvironment(view),
    // Makes Node's fetch use the proxy; only where it can lead somewhere, for it slows the start of every tool.
    ...(view.exits === undefined || workload.egress.length === 0 ? {} : { NODE_USE_ENV_PROXY: '1' }),
  };
}

/** The egress proxy's names in every spelling that programs look for; nothing where there is no forwarder. */
function proxyEnvironment(view: WorkloadView): Record<string, string> {
  if (view.exits === undefined) return {};
  const proxy = `http://127.0.0.1:${egressPort}`;
  const direct = '127.0.0.1,localhost';
  return {
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: direct,
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: direct,
  };
}

/**
 * The running agent's configuration: the reconciler's, completed with what only the driver knows. Secret.
 * `instance` is '' where several instances share one configuration and each is told by other means which it is.
 */
export function agentServerConfig(
  workload: Workload,
  view: WorkloadView,
  instance: string,
  caBundle?: string,
): AgentServerConfig {
  return {
    ...workload.agentServer,
    agent: { ...workload.agentServer.agent, instance },
    env: {
      ...standardEnvironment(workload, view),
      ...(caBundle === undefined || workload.egress.length === 0 ? {} : certificateEnvironment(caBundle)),
      ...workload.agentServer.env,
      ...nameInstance(instance),
    },
    paths: { code: view.code, workspace: view.workspace },
    forwards: forwards(view, workload, workload.egressToken, true),
  };
}

/**
 * Configuration of the `exec` mode that runs an install step: only its egress. The key is a throwaway, the
 * agent's own never gets there.
 */
export function installConfig(
  workload: Workload,
  step: InstallStep,
  view: WorkloadView,
  options: {
    readonly instance: string;
    readonly throwawayKey: string;
    readonly caBundle: string | undefined;
  },
): AgentServerConfig {
  return {
    version: 1,
    agent: { ...workload.agentServer.agent, instance: options.instance },
    keys: [{ kid: 'none', secret: options.throwawayKey }],
    env: {
      ...installEnvironment(workload, step, view, options.caBundle),
      ...nameInstance(options.instance),
    },
    paths: { code: view.code, workspace: view.deps ?? view.workspace },
    forwards: forwards(view, workload, step.egressToken, false),
    limits: {},
  };
}

function nameInstance(instance: string): Record<string, string> {
  return instance === '' ? {} : { [instanceVariable]: instance };
}

export function installEnvironment(
  workload: Workload,
  step: InstallStep,
  view: WorkloadView,
  caBundle: string | undefined,
): Record<string, string> {
  const deps = view.deps ?? view.workspace;
  return {
    ...standardEnvironment(workload, view),
    WORKSPACE_PATH: deps,
    npm_config_cache: '/cache/npm',
    npm_config_update_notifier: 'false',
    npm_config_fund: 'false',
    npm_config_audit: 'false',
    npm_config_yes: 'true',
    // `pip install x` fills the folder that the agent's Python looks into.
    PIP_TARGET: pythonFolder(deps),
    PIP_CACHE_DIR: '/cache/pip',
    PIP_DISABLE_PIP_VERSION_CHECK: '1',
    XDG_CACHE_HOME: '/cache',
    ...(caBundle === undefined ? {} : certificateEnvironment(caBundle)),
    ...step.env,
  };
}

function pythonFolder(deps: string): string {
  return `${deps}/python`;
}

/**
 * The machine's authorities, for programs that bring their own: a proxy that looks into TLS has one of its own.
 * Only for what has egress: NODE_EXTRA_CA_CERTS costs every Node process 35 ms.
 */
function certificateEnvironment(bundle: string): Record<string, string> {
  const names = [
    'NODE_EXTRA_CA_CERTS',
    'SSL_CERT_FILE',
    'PIP_CERT',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'npm_config_cafile',
  ];
  return Object.fromEntries(names.map((name) => [name, bundle]));
}

function forwards(
  view: WorkloadView,
  workload: Workload,
  token: string,
  withRouter: boolean,
): AgentServerConfig['forwards'] {
  if (view.exits === undefined) return [];
  const { namespace, name } = workload.id;
  const credential = Buffer.from(`${namespace}/${name}:${token}`).toString('base64');
  const egress = {
    listen: egressPort,
    target: view.exits.egress,
    proxyAuthorization: `Basic ${credential}`,
  };
  const router = { listen: routerPort, target: view.exits.router };
  return withRouter ? [router, egress] : [egress];
}
