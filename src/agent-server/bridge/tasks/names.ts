import { timingSafeEqual } from 'node:crypto';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { joinTaskId, splitTaskId, type TaskName } from '#mcp/tasks/ids.ts';
import { hmacText } from '#wire/hmac.ts';
import type { WireKey } from '#wire/keys.ts';
import type { CallContext } from '../../source.ts';

/** Ids of tasks as clients know them: the same one each time, good for one owner, and made nowhere else. */
export interface TaskNames {
  /** Throws RpcError `internal` for an id that cannot be passed on. */
  mint(owner: string, place: string, id: string): string;
  /** Throws RpcError `invalidParams` for anything that was not minted for this owner. */
  read(owner: string, text: unknown): TaskName;
}

export interface TaskNamesOptions {
  /** The agent's keys, the current one first. Every replica has them. */
  readonly keys: () => readonly WireKey[];
  /** uid of this instance. */
  readonly instance: string;
}

/** 132 bits of an HMAC. */
const codeChars = 22;
const longestId = 512;

export function createTaskNames({ keys, instance }: TaskNamesOptions): TaskNames {
  return {
    mint(owner, place, id) {
      const [key] = keys();
      if (key === undefined || id === '' || id.length > longestId || !id.isWellFormed())
        throw new RpcError(
          errorCodes.internal,
          "The agent's MCP server began a task with an id that is unusable",
        );
      const named = { instance, place, id };
      return joinTaskId({ ...named, code: codeOf(key, owner, named) });
    },
    read(owner, text) {
      const name = splitTaskId(text);
      if (name === undefined || !keys().some((key) => isSame(name.code, codeOf(key, owner, name))))
        throw unknownTask();
      return name;
    },
  };
}

/**
 * Whose a task is: the user's; without one, the session's; else the caller's, and then the id alone is the right to it.
 */
export function ownerOf({ claims, session }: CallContext): string {
  const { caller = '', sub = '' } = claims ?? {};
  return JSON.stringify(sub !== '' || session === undefined ? [caller, sub] : [caller, '', session]);
}

export function unknownTask(): RpcError {
  return new RpcError(errorCodes.invalidParams, 'Invalid params: there is no such task');
}

function codeOf(key: WireKey, owner: string, { instance, place, id }: Omit<TaskName, 'code'>): string {
  return hmacText(key, `ploinky/task/v1 ${JSON.stringify([owner, instance, place, id])}`).slice(0, codeChars);
}

function isSame(left: string, right: string): boolean {
  return left.length === right.length && timingSafeEqual(Buffer.from(left), Buffer.from(right));
}
