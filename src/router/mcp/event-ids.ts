/** An agent's event as clients of several agents know it: whose it is, of what kind of request, and its own id. */
export interface AgentEvent {
  readonly agent: string;
  /** Of the request that the stream answers, as far as answers differ; else empty. */
  readonly method: string;
  readonly id: string;
}

/** Answers to these have URIs or ids of tasks, each in other places. */
const letters: ReadonlyMap<string, string> = new Map([
  ['tools/call', 't'],
  ['prompts/get', 'p'],
  ['resources/read', 'r'],
  ['tasks/get', 'g'],
  ['tasks/result', 's'],
  ['tasks/cancel', 'c'],
]);
const methods: ReadonlyMap<string, string> = new Map(
  [...letters].map(([method, letter]) => [letter, method]),
);

/**
 * The id by which any router finds the agent again; agent names have no "/". What it leads to, the agent has sealed:
 * no other agent, and no other session, can make use of it.
 */
export function exposeEventId({ agent, method, id }: AgentEvent): string {
  return `${agent}/${letters.get(method) ?? 'o'}/${id}`;
}

/** Undefined when the id was not made here. */
export function readEventId(id: string): AgentEvent | undefined {
  const match = /^([^/]+)\/([tprgsco])\/(.+)$/.exec(id);
  const [, agent, letter, own] = match ?? [];
  if (agent === undefined || letter === undefined || own === undefined) return undefined;
  return { agent, method: methods.get(letter) ?? '', id: own };
}
