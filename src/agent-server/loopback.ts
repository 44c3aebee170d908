import { Agent } from 'node:http';

/**
 * Idle connections to the agent's own server are closed by this end. Many servers close theirs after two to five
 * seconds, and a call that meets such an end is lost: whether it was carried out nobody knows, so it is not made again.
 */
const idleMs = 1_000;

const mostCalls = 256;

/** Connections to the agent's own server on 127.0.0.1, kept while calls follow each other. */
export function loopbackConnections(maxSockets = mostCalls): Agent {
  // An exchange that lasts longer is left alone: of one in use the limit is told to the request, which does not ask.
  return new Agent({ keepAlive: true, maxSockets, timeout: idleMs });
}
