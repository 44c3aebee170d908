import { type ChildProcess, spawn } from 'node:child_process';
import { codeOf, messageOf } from '#kit/errors.ts';
import { markerName, type SpawnFailure, type Template } from '../tools/spawner-protocol.ts';

/**
 * Starts a template's process in a session of its own, with pipes as descriptors 0 to 3; with a reaper, the process is
 * the reaper's and the command its child. A child whose `pid` is undefined reports its failure by an `error` event.
 */
export function launch(
  template: Template,
  marker: string,
  reaper: string | undefined,
): ChildProcess | SpawnFailure {
  const mark = `${markerName}=${marker}`;
  const [file, args, env] =
    reaper === undefined
      ? [template.file, template.args, { ...template.env, [markerName]: marker }]
      : [reaper, [mark, template.file, ...template.args], template.env];
  try {
    const child: ChildProcess = spawn(file, args, {
      cwd: template.cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    return hasPipes(child) ? child : outOfDescriptors(child, template);
  } catch (error) {
    return failureOf(error, template, reaper);
  }
}

/** In Node's words, which name the reaper where it was to be started. */
export function failureOf(error: unknown, { file }: Template, reaper: string | undefined): SpawnFailure {
  const message = messageOf(error);
  return {
    code: codeOf(error) ?? 'UNKNOWN',
    message: reaper === undefined ? message : message.replace(reaper, () => file),
  };
}

/** Node leaves `stdio` undefined when there were no descriptors left for the pipes. */
function hasPipes(child: { readonly stdio?: unknown }): boolean {
  return child.stdio !== undefined;
}

function outOfDescriptors(child: ChildProcess, { file }: Template): SpawnFailure {
  child.once('error', () => undefined);
  return spawnFailure('EMFILE', file);
}

export function spawnFailure(code: string, file: string): SpawnFailure {
  return { code, message: `spawn ${file} ${code}` };
}
