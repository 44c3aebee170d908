import { chmod, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#kit/clock.ts';
import { codeOf, TerminalError } from '#kit/errors.ts';
import { writeFileAtomic } from '#kit/files.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { createDocuments } from './discovery/documents.ts';
import type { Engine } from './engine.ts';
import { createFaultHook, type Faults } from './faults.ts';
import { GarbageCollector } from './gc/collector.ts';
import { expireEvents } from './gc/event-expiry.ts';
import { emptyDeletedNamespaces } from './gc/namespaces.ts';
import { bearerAuthorizer } from './http/authorize.ts';
import { createHandler, type HandlerOptions } from './http/handler.ts';
import { type Listener, listenTls, listenUnix } from './http/listen.ts';
import { loadTlsIdentity, saveTlsIdentity } from './http/tls.ts';
import { coreKinds } from './kinds/core.ts';
import { type CustomResourceDefinition, customKind } from './kinds/custom.ts';
import { namespaceKind } from './kinds/namespace.ts';
import { createKindRegistry } from './kinds/registry.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { createCipher } from './store/cipher.ts';
import { openJournal } from './store/journal.ts';
import { Store } from './store/store.ts';
import { createObject } from './verbs/create.ts';
import { WatchHub } from './watch/hub.ts';

export interface ApiServerOptions {
  /** The kinds to serve besides the core ones. */
  readonly definitions: readonly CustomResourceDefinition[];
  /** Folder of the database and the keys; made with mode 0700. */
  readonly dataFolder: string;
  /** Unix socket for the workspace's own programs; whoever can connect is the owner. */
  readonly socket: string;
  /** Serves kubectl on the loopback with TLS and a token. Left out: the Unix socket alone. */
  readonly tls?: TlsOptions;
  /** Namespaces that exist from the start. Default: `default`. */
  readonly namespaces?: readonly string[];
  /** 32 bytes that encrypt stored Secrets. Default: the file secrets.key in the data folder, made when absent. */
  readonly secretsKey?: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: Partial<Limits>;
  /** For tests: decides what goes wrong. */
  readonly faults?: Faults;
}

export interface TlsOptions {
  /** 0: the port of the last run when it is free, else a free one. */
  readonly port: number;
  /** Where to write a kubeconfig, or undefined. */
  readonly kubeconfig?: string;
}

export interface ApiServer {
  readonly socket: string;
  /** `https://127.0.0.1:<port>`, when TLS was asked for. */
  readonly url: string | undefined;
  /** Ends watches and connections, writes what waits, closes the database. */
  close(): Promise<void>;
  /** For tests: cuts every connection; the server goes on. */
  cutConnections(): void;
}

/** Starts the workspace API. Rejects with a CodedError when the folder is in use or a socket cannot be bound. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const engine = await createEngine(options);
  const documents = createDocuments(engine.kinds.all);
  const faults = options.faults === undefined ? undefined : createFaultHook(options.faults, options.clock);
  const base = { engine, documents, faults };
  const listeners: Listener[] = [];
  const background: (() => void)[] = [];
  let url: string | undefined;
  try {
    background.push(...startBackground(engine));
    await createNamespaces(engine, options.namespaces ?? ['default']);
    listeners.push(
      await listenUnix(options.socket, createHandler({ ...base, authorize: undefined }), engine.limits),
    );
    if (options.tls !== undefined) {
      const listener = await serveTls(options, options.tls, base);
      listeners.push(listener);
      url = `https://127.0.0.1:${listener.port}`;
    }
  } catch (error) {
    for (const stop of background) stop();
    await Promise.all(listeners.map((listener) => listener.close()));
    engine.hub.close();
    engine.store.close();
    throw error;
  }
  return {
    socket: options.socket,
    url,
    cutConnections() {
      for (const listener of listeners) listener.cutConnections();
    },
    async close() {
      for (const stop of background) stop();
      engine.hub.close();
      await Promise.all(listeners.map((listener) => listener.close()));
      engine.store.close();
    },
  };
}

/** What runs beside requests; each function stops one. */
function startBackground(engine: Engine): (() => void)[] {
  const collector = new GarbageCollector(engine);
  return [() => collector.close(), emptyDeletedNamespaces(engine), expireEvents(engine)];
}

async function serveTls(
  options: ApiServerOptions,
  tls: TlsOptions,
  base: Omit<HandlerOptions, 'authorize'>,
): Promise<Listener> {
  const { clock, random, dataFolder } = options;
  const identity = await loadTlsIdentity(dataFolder, clock, (size) => random.bytes(size));
  const handler = createHandler({ ...base, authorize: bearerAuthorizer(identity.token) });
  const listen = (port: number) => listenTls(port, identity, handler, base.engine.limits);
  const wanted = tls.port === 0 ? identity.port : tls.port;
  const listener = await listen(wanted).catch((error: unknown) => {
    if (tls.port !== 0 || wanted === 0) throw error;
    return listen(0);
  });
  if (listener.port !== identity.port)
    await saveTlsIdentity(dataFolder, { ...identity, port: listener.port });
  if (tls.kubeconfig !== undefined)
    await writeKubeconfig(tls.kubeconfig, {
      server: `https://127.0.0.1:${listener.port}`,
      certificate: identity.cert,
      token: identity.token,
      namespace: options.namespaces?.[0] ?? 'default',
    });
  return listener;
}

async function createEngine(options: ApiServerOptions): Promise<Engine> {
  const limits = { ...defaultLimits, ...options.limits };
  const { clock, random, log } = options;
  const kinds = createKindRegistry([...coreKinds, ...options.definitions.map(customKind)]);
  await mkdir(options.dataFolder, { recursive: true, mode: 0o700 });
  await chmod(options.dataFolder, 0o700);
  const key = options.secretsKey ?? (await secretsKey(join(options.dataFolder, 'secrets.key'), random));
  const store = new Store({
    journal: openJournal(join(options.dataFolder, 'objects.db')),
    cipher: createCipher(key, random),
    clock,
    log,
    storages: kinds.all.map((kind) => kind.storage),
    historyLimit: limits.historyChanges,
    batchLimit: limits.batchWrites,
  });
  const hub = new WatchHub(store, limits, clock);
  return { kinds, store, hub, clock, random, log, limits };
}

async function secretsKey(file: string, random: Random): Promise<Uint8Array> {
  try {
    const key = Buffer.from((await readFile(file, 'utf8')).trim(), 'base64');
    if (key.length === 32) return key;
    throw new TerminalError('StoreKeyWrong', `${file} is not a key of 32 bytes in base64.`);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  const key = random.bytes(32);
  await writeFileAtomic(file, `${key.toString('base64')}\n`, 0o600);
  return key;
}

async function createNamespaces(engine: Engine, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (engine.store.get(namespaceKind.storage, name) !== undefined) continue;
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    await createObject(engine, { kind: namespaceKind }, body, {
      dryRun: false,
      fieldManager: 'apiserver',
      fieldValidation: 'Strict',
      force: false,
      warn: () => undefined,
    });
  }
}
