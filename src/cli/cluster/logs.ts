import type { Agent } from '#api/agent.ts';
import { agentLabel } from '#api/labels.ts';
import { agentResource } from '#api/resources.ts';
import type { Redactor } from '#kit/redact.ts';
import { isUnavailable } from '#kube/errors.ts';
import type { Cli, Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { redactorFor } from '../secrets/known.ts';
import { harmless, type Style } from '../terminal.ts';
import { notInstalled } from './errors.ts';
import { findInstallation } from './installation.ts';
import { type Pod, podResource } from './objects.ts';
import { followLog, isAway, type LogLine, type LogSource, readEnd, sourcesOf } from './pod-log.ts';
import { lookAt, waitsOf } from './pod-waits.ts';
import { components, selectorOf } from './product.ts';

export interface ClusterLogOptions {
  readonly agent: string | undefined;
  readonly process: string | undefined;
  readonly container: string | undefined;
  readonly homeNamespace?: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tail: number;
}

/** Which pods. */
interface Wanted {
  readonly namespace: string;
  readonly labelSelector: string;
}

const pollMs = 2_000;
const colours: readonly Style[] = ['cyan', 'green', 'yellow', 'dim'];

/**
 * Prints the end of the logs of all containers of an agent's pods, or of one of the product's own programs, in the
 * order of their times; with `follow` also what they and their successors go on to write, until Ctrl-C.
 */
export async function clusterLogs(cli: Cli, cluster: Cluster, options: ClusterLogOptions): Promise<void> {
  const wanted = await findWanted(cluster, options);
  const { pods, sources } = await findSources(cluster, wanted, options);
  const found = await Promise.all(sources.map((source) => readEnd(cluster.client, source, options)));
  const lines = found.flat().sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  const print = printer(cli, options, await redactorOf(cluster, options));
  print.sees(sources);
  for (const line of options.tail === 0 ? [] : lines.slice(-options.tail)) print.line(line);
  if (sources.length === 0 && !options.follow) cli.terminal.note(nothingOf(options, wanted, pods));
  if (!options.follow) return;
  const ended = sources.filter(({ running }) => !running).map(lifeOf);
  await follow(cli, cluster, { wanted, options, print, seen: newestOf(lines), done: new Set(ended) });
}

async function findWanted(cluster: Cluster, options: ClusterLogOptions): Promise<Wanted> {
  if (options.process !== undefined) {
    const component = components.find((name) => name === options.process);
    if (component === undefined) {
      throw new CliError(
        exitCodes.usage,
        `a cluster has no process "${options.process}"`,
        `Use one of ${components.join(', ')}.`,
      );
    }
    const installation = await findInstallation(cluster, options);
    if (installation === undefined) throw notInstalled(cluster);
    return { namespace: installation.namespace, labelSelector: selectorOf(component) };
  }
  const name = options.agent ?? '';
  // Without this an unknown name would look like an agent that is silent.
  await cluster.client.get(agentResource, { namespace: cluster.namespace, name });
  return { namespace: cluster.namespace, labelSelector: `${agentLabel}=${name}` };
}

async function findSources(
  { client }: Cluster,
  wanted: Wanted,
  options: ClusterLogOptions,
): Promise<{ pods: readonly Pod[]; sources: LogSource[] }> {
  const { items } = await client.list<Pod>(podResource, { ...wanted });
  const sources = items.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).flatMap(sourcesOf);
  const named = sources.filter(
    ({ container }) => options.container === undefined || container === options.container,
  );
  if (options.container !== undefined && named.length === 0 && sources.length > 0) {
    const known = [...new Set(sources.map(({ container }) => container))].join(', ');
    throw new CliError(
      exitCodes.notFound,
      `there is no container "${options.container}"`,
      `There are ${known}.`,
    );
  }
  const kept = options.previous ? named.filter(({ restarts }) => restarts > 0) : named;
  return { pods: items, sources: kept };
}

function nothingOf(
  { previous, agent, process }: ClusterLogOptions,
  { namespace }: Wanted,
  pods: readonly Pod[],
): string {
  if (previous) return 'No container was started again.';
  const what = pods.length === 0 ? 'There is no pod' : 'No container has begun';
  const why = waitsOf(pods).map((wait) => `; ${wait}`);
  const ways = [
    ...(process === undefined ? [`ploinky describe agent ${agent}`] : []),
    lookAt(pods, namespace),
  ];
  return `${what}${why.join('')}. See ${ways.map((way) => `\`${way}\``).join(' or ')}.`;
}

/** The time of the newest line of each source. */
function newestOf(lines: readonly LogLine[]): Map<string, string> {
  return new Map(lines.map(({ source, time }) => [keyOf(source), time]));
}

function keyOf({ uid, container }: LogSource): string {
  return `${uid}/${container}`;
}

/** One run of a container. */
function lifeOf(source: LogSource): string {
  return `${keyOf(source)}#${source.restarts}`;
}

interface Follow {
  readonly wanted: Wanted;
  readonly options: ClusterLogOptions;
  readonly print: Printer;
  readonly seen: Map<string, string>;
  /** Runs that have been read to their end. */
  readonly done: Set<string>;
}

/** Looks for containers every two seconds and reads each that runs, each from where it was left. */
async function follow(
  cli: Cli,
  cluster: Cluster,
  { wanted, options, print, seen, done }: Follow,
): Promise<void> {
  const reading = new Map<string, Promise<void>>();
  const signal = cli.interrupted;
  const read = async (source: LogSource): Promise<void> => {
    const key = keyOf(source);
    try {
      for await (const line of followLog(cluster.client, source, { after: seen.get(key) ?? '', signal })) {
        seen.set(key, line.time);
        print.line(line);
      }
    } catch (error) {
      if (!signal.aborted && !isAway(error))
        cli.terminal.note(`${source.pod}/${source.container}: ${String(error)}`);
    } finally {
      reading.delete(key);
      if (!source.running) done.add(lifeOf(source));
    }
  };
  while (!signal.aborted) {
    const now = { ...options, previous: false };
    const { sources } = await findSources(cluster, wanted, now).catch(noneWhileAway);
    print.sees(sources);
    for (const source of sources) {
      const key = keyOf(source);
      // What ended between two looks is read to its end, once.
      if (reading.has(key) || done.has(lifeOf(source))) continue;
      reading.set(key, read(source));
    }
    await cli.clock.sleep(pollMs, signal).catch(() => undefined);
  }
  await Promise.all(reading.values());
}

function noneWhileAway(error: unknown): { sources: LogSource[] } {
  if (isUnavailable(error)) return { sources: [] };
  throw error;
}

interface Printer {
  /** Learns which sources there are: with more than one, each line says whose it is. */
  sees(sources: readonly LogSource[]): void;
  line(line: LogLine): void;
}

/** Of an agent; Ploinky's own programs take out what they know before they write. */
async function redactorOf(
  { client, namespace }: Cluster,
  { agent }: ClusterLogOptions,
): Promise<Redactor | undefined> {
  if (agent === undefined) return undefined;
  return redactorFor(client, await client.get<Agent>(agentResource, { namespace, name: agent }));
}

function printer(
  { terminal }: Cli,
  { timestamps }: ClusterLogOptions,
  redactor: Redactor | undefined,
): Printer {
  const prefixes = new Map<string, string>();
  const pods = new Set<string>();
  const containers = new Set<string>();
  return {
    sees(sources) {
      for (const { pod, container } of sources) {
        pods.add(pod);
        containers.add(container);
      }
    },
    line({ source, time, text }) {
      const parts = [
        ...(pods.size > 1 ? [source.pod] : []),
        ...(containers.size > 1 ? [source.container] : []),
      ];
      const name = parts.join('/');
      if (!prefixes.has(name)) {
        const colour = colours[prefixes.size % colours.length] ?? 'dim';
        prefixes.set(name, name === '' ? '' : `${terminal.style(colour, `[${name}]`)} `);
      }
      terminal.print(
        `${prefixes.get(name)}${timestamps ? `${time} ` : ''}${harmless(redactor?.text(text) ?? text)}`,
      );
    },
  };
}
