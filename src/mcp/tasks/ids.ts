/** Where a task runs, and what its server calls it. */
export interface TaskName {
  /** uid of the agent's instance. */
  readonly instance: string;
  /** Tells apart upstream sessions and processes that may give the same id; empty for the shared session. */
  readonly place: string;
  /** Proves that an agent-server made the id, for one owner. */
  readonly code: string;
  /** As its server gave it. */
  readonly id: string;
}

/** Longer ids are not taken: each travels in a header. */
const longest = 2048;

/**
 * The id that clients are told. Instance, place and the server's id are in the clear, so that whoever routes finds
 * the instance; all of it may stand in a header.
 */
export function joinTaskId({ instance, place, code, id }: TaskName): string {
  return [plain(instance), plain(place), code, plain(id)].join('.');
}

/** Undefined for what joinTaskId did not make. Says nothing of whether the code is genuine. */
export function splitTaskId(text: unknown): TaskName | undefined {
  if (typeof text !== 'string' || text.length > longest) return undefined;
  const match = /^([\w%~!*'()-]+)\.([\w%~!*'()-]*)\.([\w-]+)\.([\w%~!*'()-]+)$/.exec(text);
  if (match === null) return undefined;
  const [, instance = '', place = '', code = '', id = ''] = match;
  try {
    const name = {
      instance: decodeURIComponent(instance),
      place: decodeURIComponent(place),
      code,
      id: decodeURIComponent(id),
    };
    // One task has one id: other spellings of it are none.
    return joinTaskId(name) === text ? name : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The `place` of a durable task: which replica it is of, where there may be several. Its tasks stay with the replica's
 * workspace, so that another instance in the same slot goes on with them when the one that the id names has gone.
 */
export function durablePlace(slot: number | undefined): string {
  return slot === undefined ? 'durable' : `durable-${slot}`;
}

/** Undefined for a task that goes with its instance. */
export function slotOfTask({ place }: Pick<TaskName, 'place'>): number | undefined {
  const slot = /^durable-(\d{1,4})$/.exec(place)?.[1];
  return slot === undefined ? undefined : Number(slot);
}

/** The id behind several agents. Names of agents have no "/". */
export function qualifyTaskId(agent: string, id: string): string {
  return `${agent}/${id}`;
}

/** Undefined for an id that names no agent. */
export function readQualifiedTaskId(
  text: unknown,
): { readonly agent: string; readonly id: string } | undefined {
  if (typeof text !== 'string' || text.length > longest) return undefined;
  const slash = text.indexOf('/');
  return slash <= 0 ? undefined : { agent: text.slice(0, slash), id: text.slice(slash + 1) };
}

function plain(text: string): string {
  return encodeURIComponent(text).replaceAll('.', '%2E');
}
