import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '#api/meta.ts';
import { buildPart, type Missing } from '#test/cluster/parts.ts';
import { hasProgram, type Result, run, tryRun } from '#test/cluster/run.ts';

export const chartFolder = join(import.meta.dirname, '../../charts/ploinky');
export const homeNamespace = 'ploinky-system';

/** Path of a Helm program: the one on PATH when `installed` is preferred, else the pinned one, built once. */
export async function findHelm(
  progress: (line: string) => void,
  { preferInstalled = false } = {},
): Promise<string | Missing> {
  if (preferInstalled && (await hasProgram('helm'))) return 'helm';
  const folder = await buildPart('helm', progress);
  return typeof folder === 'string' ? join(folder, 'helm') : folder;
}

export interface RenderOptions {
  readonly release?: string;
  readonly namespace?: string;
  /** Values as a YAML or JSON text; they go through standard input. */
  readonly values?: string;
  readonly arguments?: readonly string[];
  readonly chart?: string;
}

function templateCommand(helm: string, options: RenderOptions): string[] {
  const { release = 'ploinky', namespace = homeNamespace, chart = chartFolder } = options;
  const values = options.values === undefined ? [] : ['--values', '-'];
  return [
    helm,
    'template',
    release,
    chart,
    '--namespace',
    namespace,
    ...values,
    ...(options.arguments ?? []),
  ];
}

/** What `helm template` prints. Rejects with Helm's words when it refuses the values. */
export function renderText(helm: string, options: RenderOptions = {}): Promise<string> {
  return run(templateCommand(helm, options), options.values === undefined ? {} : { input: options.values });
}

export function tryRender(helm: string, options: RenderOptions): Promise<Result> {
  return tryRun(
    templateCommand(helm, options),
    options.values === undefined ? {} : { input: options.values },
  );
}

/** The rendered objects; hooks (`helm test`) are among them. */
export async function render(helm: string, options: RenderOptions = {}): Promise<KubeObject[]> {
  return parseObjects(await renderText(helm, options));
}

/** Objects of a YAML stream; empty documents are left out. Throws at a document that is no YAML. */
export function parseObjects(text: string): KubeObject[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const object: unknown = document.toJS();
    return object === null ? [] : [object as KubeObject];
  });
}
