import type { KubeConfig } from '@kubernetes/client-node';
import { ProxyAgent } from 'undici';
import type { Clock } from '#kit/clock.ts';
import { digestOf } from '#kit/digest.ts';
import { messageOf } from '#kit/errors.ts';
import {
  type AgentPair,
  type ConnectionLimits,
  createAgentPair,
  type Endpoint,
  pairAgents,
} from './endpoint.ts';
import { TransportError } from './errors.ts';

export interface KubeconfigOptions {
  /** Path of the file. Default: $KUBECONFIG, then ~/.kube/config, as kubectl. */
  readonly file?: string;
  /** Default: the file's current context. */
  readonly context?: string;
  readonly clock: Clock;
  /** Age in milliseconds after which credentials (exec plugins, token files) are asked again. Default 10,000. */
  readonly credentialsMaxAgeMs?: number;
  readonly limits?: ConnectionLimits;
}

interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: Readonly<Record<string, unknown>>;
  readonly readAt: number;
}

const tlsFields = ['ca', 'cert', 'key', 'pfx', 'passphrase', 'rejectUnauthorized', 'servername'] as const;

/**
 * The API that a kubeconfig names, with every way to authenticate that @kubernetes/client-node knows
 * (certificates, tokens, token files, exec plugins, OIDC). Loads that library only here, when called: it costs
 * 90 MB of memory and 0.3 s. Throws TransportError BadEndpoint.
 */
export async function kubeconfigEndpoint(
  options: KubeconfigOptions,
): Promise<Endpoint & { readonly namespace: string; readonly context: string }> {
  let config = await loadKubeconfig(options);
  let isDoubted = false;
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw badEndpoint(noCluster(config.currentContext));
  const { origin, pathname } = new URL(cluster.server);
  const limits = options.limits ?? {};
  let credentials = await readCredentials(config, options.clock);
  let agents = openAgents(config, credentials, limits);
  let tlsDigest = digestTls(credentials);

  async function renew(): Promise<Credentials> {
    const maxAge = options.credentialsMaxAgeMs ?? 10_000;
    if (!isDoubted && options.clock.monotonic() - credentials.readAt < maxAge) return credentials;
    // The library keeps a plugin's token until it expires; only a new load asks the plugin again.
    if (isDoubted) config = await loadKubeconfig(options);
    isDoubted = false;
    credentials = await readCredentials(config, options.clock);
    const digest = digestTls(credentials);
    if (digest !== tlsDigest) {
      // Running watches keep their connection until it ends; new requests use the new certificate.
      agents.retire();
      agents = openAgents(config, credentials, limits);
      tlsDigest = digest;
    }
    return credentials;
  }

  return {
    origin,
    pathPrefix: pathname.replace(/\/+$/, ''),
    namespace: config.getContextObject(config.currentContext)?.namespace ?? 'default',
    context: config.currentContext,
    dispatcher: () => agents.calls,
    streams: () => agents.streams,
    headers: async () => (await renew()).headers,
    refresh: () => {
      isDoubted = true;
      return true;
    },
    close: () => agents.close(),
  };
}

/** The library's own object, for what only the library can do. Throws TransportError BadEndpoint. */
export async function loadKubeconfig(
  options: Pick<KubeconfigOptions, 'file' | 'context'>,
): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  try {
    if (options.file === undefined) config.loadFromDefault();
    else config.loadFromFile(options.file);
  } catch (error) {
    throw badEndpoint(`cannot read the kubeconfig: ${messageOf(error)}`, error);
  }
  if (options.context !== undefined) {
    if (config.getContextObject(options.context) === null) {
      throw badEndpoint(`the kubeconfig has no context "${options.context}"`);
    }
    config.setCurrentContext(options.context);
  }
  // What the library makes up when it finds nothing: it would only say that nothing listens there.
  if (config.currentContext === 'loaded-context' && options.file === undefined) {
    throw badEndpoint('there is no kubeconfig: neither $KUBECONFIG nor ~/.kube/config');
  }
  return config;
}

function noCluster(context: string | undefined): string {
  return context ? `context "${context}" names no cluster` : 'the kubeconfig has no current context';
}

async function readCredentials(config: KubeConfig, clock: Clock): Promise<Credentials> {
  const gathered: Record<string, unknown> & { auth?: string; headers?: Record<string, string> } = {};
  try {
    await config.applyToHTTPSOptions(gathered);
  } catch (error) {
    throw badEndpoint(`cannot get credentials: ${messageOf(error)}`, error);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(gathered.headers ?? {}))
    headers[name.toLowerCase()] = `${value}`;
  if (typeof gathered.auth === 'string') {
    headers['authorization'] = `Basic ${Buffer.from(gathered.auth).toString('base64')}`;
  }
  const tls = Object.fromEntries(
    tlsFields.filter((field) => gathered[field] !== undefined).map((field) => [field, gathered[field]]),
  );
  return { headers, tls, readAt: clock.monotonic() };
}

function openAgents(config: KubeConfig, credentials: Credentials, limits: ConnectionLimits): AgentPair {
  const proxy = config.getCurrentCluster()?.proxyUrl;
  if (proxy === undefined) {
    return createAgentPair({ ...credentials.tls, timeout: limits.connectTimeoutMs ?? 10_000 }, limits);
  }
  if (!/^https?:/.test(proxy)) {
    throw badEndpoint(`proxy-url "${proxy}" is not supported: only http and https proxies are`);
  }
  const common = {
    uri: proxy,
    requestTls: { ...credentials.tls },
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  };
  const calls = new ProxyAgent({ ...common, connections: limits.maxConnections ?? 32 });
  return pairAgents(calls, new ProxyAgent(common));
}

function digestTls(credentials: Credentials): string {
  return digestOf(Object.entries(credentials.tls).map(([name, value]) => `${name}=${String(value)}`));
}

function badEndpoint(message: string, cause?: unknown): TransportError {
  return new TransportError('BadEndpoint', message, {
    cause,
    remedy: 'Check that `kubectl` works with the same kubeconfig and context.',
  });
}
