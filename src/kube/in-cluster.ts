import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildConnector } from 'undici';
import type { Clock } from '#kit/clock.ts';
import { type ConnectionLimits, createAgentPair, type Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

export interface InClusterOptions {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string;
  readonly port: string;
  readonly clock: Clock;
  /** Folder with `token` and `ca.crt`. Default `serviceAccountFolder`. */
  readonly folder?: string;
  /** Age in milliseconds after which the token file is read again: the kubelet rotates it. Default 60,000. */
  readonly tokenMaxAgeMs?: number;
  readonly limits?: ConnectionLimits;
}

/** The cluster's own API, as a pod's service account. The CA file is read at each new connection. */
export function inClusterEndpoint(options: InClusterOptions): Endpoint {
  const folder = options.folder ?? serviceAccountFolder;
  const limits = options.limits ?? {};
  const agents = createAgentPair(connectWithCurrentCa(join(folder, 'ca.crt'), limits), limits);
  const token = createTokenFile(join(folder, 'token'), options.clock, options.tokenMaxAgeMs ?? 60_000);
  return {
    origin: `https://${options.host.includes(':') ? `[${options.host}]` : options.host}:${options.port}`,
    pathPrefix: '',
    dispatcher: () => agents.calls,
    streams: () => agents.streams,
    headers: async () => ({ authorization: `Bearer ${await token.read()}` }),
    refresh: () => token.forget(),
    close: () => agents.close(),
  };
}

function connectWithCurrentCa(path: string, limits: ConnectionLimits): buildConnector.connector {
  const timeout = limits.connectTimeoutMs ?? 10_000;
  let current: { ca: string; connect: buildConnector.connector } | undefined;
  return (options, callback) => {
    try {
      const ca = readFileSync(path, 'utf8');
      if (current?.ca !== ca) current = { ca, connect: buildConnector({ ca, timeout }) };
    } catch (error) {
      if (current === undefined) {
        callback(unreadable(path, error), null);
        return;
      }
    }
    current.connect(options, callback);
  };
}

function createTokenFile(path: string, clock: Clock, maxAgeMs: number) {
  let known: { text: string; readAt: number } | undefined;
  return {
    async read(): Promise<string> {
      if (known !== undefined && clock.monotonic() - known.readAt < maxAgeMs) return known.text;
      try {
        known = { text: (await readFile(path, 'utf8')).trim(), readAt: clock.monotonic() };
      } catch (error) {
        // A rotation that is under way must not stop a running controller: the old token still works.
        if (known === undefined) throw unreadable(path, error);
      }
      return known.text;
    },
    forget(): boolean {
      const had = known !== undefined;
      known = undefined;
      return had;
    },
  };
}

function unreadable(path: string, cause: unknown): TransportError {
  return new TransportError('BadEndpoint', `cannot read ${path} of the service account`, {
    cause,
    remedy: 'Run inside a pod with a mounted service account token, or give a kubeconfig.',
  });
}
